// The product's own TypeScript files as syntax trees, for the rule tests.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { packageRoot } from '../../../src/host/package-root.ts';

export interface SourceFile {
  /** Relative to the package, with slashes. */
  path: string;
  text: string;
  tree: ts.SourceFile;
}

/** Files under the given folders that end in .ts. */
export function sourceFiles(...folders: string[]): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(packageRoot(), folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .map((name) => parsed(`${folder}/${name}`, readFileSync(join(packageRoot(), folder, name), 'utf8'))),
  );
}

/** A file from text, as the rule tests use to show that a rule can fail. */
export function parsed(path: string, text: string): SourceFile {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) };
}

/** Calls `visit` for every node. */
export function eachNode(root: ts.Node, visit: (node: ts.Node) => void): void {
  visit(root);
  ts.forEachChild(root, (child) => eachNode(child, visit));
}

/** `path:line` of a node. */
export function placeOf({ path, tree }: SourceFile, node: ts.Node): string {
  return `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
}
