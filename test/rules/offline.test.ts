// Commands that work on files alone start fast and run anywhere: nothing that they load leads to an engine, a database or
// a server. What is loaded on demand does not count.
import { posix } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { parsed, type SourceFile, sourceFiles } from '../support/checks/source-files.ts';

const HEAVY = ['better-sqlite3', 'dockerode', 'fastify', 'listr2', 'prom-client', 'undici', 'ws', 'execa'];

const files = new Map(sourceFiles('src', 'commands', 'bench').map((file) => [file.path, file]));
const OFFLINE = [...files.keys()].filter((path) => path.startsWith('commands/config/'));
/** Modules that the build replaces by what they yield (scripts/config-check.js, scripts/config-data.js). */
const REPLACED = ['src/config/config-check.ts', 'src/schema/config-walked.ts'];

/** What a file imports when it is loaded: paths and packages. */
function loadedBy({ path, tree }: SourceFile): string[] {
  return tree.statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) return [];
    if (statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
    const { text } = statement.moduleSpecifier;
    return [text.startsWith('.') ? posix.join(posix.dirname(path), text) : text];
  });
}

/** The imports that lead from `path` to each heavy package. */
function waysToHeavy(
  path: string,
  graph: ReadonlyMap<string, SourceFile> = files,
  heavy: readonly string[] = HEAVY,
): string[] {
  const ways: string[] = [];
  const seen = new Set<string>();
  const walk = (at: string, way: readonly string[]) => {
    if (seen.has(at)) return;
    seen.add(at);
    if (heavy.includes(at)) ways.push([...way, at].join(' → '));
    const file = graph.get(at);
    if (file) for (const next of loadedBy(file)) walk(next, [...way, at]);
  };
  walk(path, []);
  return ways;
}

it.each(OFFLINE)('%s loads nothing heavy', (path) => {
  expect(waysToHeavy(path)).toEqual([]);
});

it('the fast path loads neither oclif nor a schema library', () => {
  const built = new Map([...files].filter(([path]) => !REPLACED.includes(path)));
  expect(
    waysToHeavy('src/cli/fast-path/main.ts', built, [...HEAVY, '@oclif/core', 'typebox', 'ajv']),
  ).toEqual([]);
  expect(REPLACED.filter((path) => !files.has(path))).toEqual([]);
});

it('finds an indirect import, and ignores types', () => {
  const graph = new Map(
    [
      parsed('src/a.ts', "import { b } from './b.ts';"),
      parsed('src/b.ts', "import type { X } from 'fastify';\nimport Sqlite from 'better-sqlite3';"),
    ].map((file) => [file.path, file]),
  );
  expect(waysToHeavy('src/a.ts', graph)).toEqual(['src/a.ts → src/b.ts → better-sqlite3']);
  expect(OFFLINE).toContain('commands/config/lint.ts');
});
