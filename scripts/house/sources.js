// The source files below a root, as syntax trees, and what they import.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import ts from 'typescript';

/** @typedef {{ path: string, text: string, tree: ts.SourceFile }} Source */

/**
 * The files below `paths`, folders or files relative to `root`, that end in one of `endings`.
 *
 * @param {string} root
 * @param {readonly string[]} paths
 * @param {readonly string[]} endings
 * @returns {string[]}
 */
export function filesBelow(root, paths, endings) {
  const all = paths.flatMap((path) => {
    const full = join(root, path);
    if (!existsSync(full)) return [];
    if (!statSync(full).isDirectory()) return [path];
    return readdirSync(full, { recursive: true, encoding: 'utf8' }).map((name) => posix.join(path, name));
  });
  return all
    .filter((path) => endings.some((ending) => path.endsWith(ending)))
    .filter((path) => !/(?:^|\/)(?:node_modules|dist|build|\.cache)\//.test(path))
    .sort();
}

/** @param {string} root @param {readonly string[]} paths @returns {Source[]} */
export function sourcesBelow(root, ...paths) {
  return filesBelow(root, paths, ['.ts', '.js']).map((path) =>
    sourceOf(path, readFileSync(join(root, path), 'utf8')),
  );
}

/** @param {string} path @param {string} text @returns {Source} */
export function sourceOf(path, text) {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) };
}

/** Calls `visit` for every node. @param {ts.Node} root @param {(node: ts.Node) => void} visit */
export function eachNode(root, visit) {
  visit(root);
  ts.forEachChild(root, (child) => eachNode(child, visit));
}

/** @param {Source} source @param {ts.Node} node */
export function lineOf({ tree }, node) {
  return tree.getLineAndCharacterOfPosition(node.getStart()).line + 1;
}

/**
 * The paths of the files that `source` imports, types included, relative to the root; packages are left out.
 *
 * @param {Source} source
 * @returns {string[]}
 */
export function importsOf(source) {
  /** @type {Set<string>} */
  const found = new Set();
  eachNode(source.tree, (node) => {
    const specifier = specifierOf(node);
    if (specifier?.startsWith('.')) found.add(posix.join(dirname(source.path), specifier));
  });
  return [...found];
}

/**
 * The specifier of an import or export declaration, a dynamic import or an import type.
 *
 * @param {ts.Node} node
 */
export function specifierOf(node) {
  const text = (/** @type {ts.Node | undefined} */ part) =>
    part && ts.isStringLiteralLike(part) ? part.text : undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return text(node.moduleSpecifier);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    return text(node.arguments[0]);
  return ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)
    ? text(node.argument.literal)
    : undefined;
}
