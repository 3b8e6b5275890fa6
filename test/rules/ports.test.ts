// Time, ids and randomness are handed in (domain/ports.ts): only src/host/ takes them from the machine, so that a test
// owns them. Commands may read the wall clock, to show ages; the baselines measure real time, that is their job.
import ts from 'typescript';
import { expect, it } from 'vitest';
import { eachNode, parsed, placeOf, type SourceFile, sourceFiles } from '../support/checks/source-files.ts';

const FORBIDDEN_CALLS = [
  'Date.now',
  'Math.random',
  'performance.now',
  'process.hrtime',
  'process.hrtime.bigint',
  'setTimeout',
  'setInterval',
  'crypto.randomBytes',
  'crypto.randomUUID',
  'crypto.getRandomValues',
  'crypto.randomInt',
];
const FORBIDDEN_IMPORTS: Record<string, readonly string[]> = {
  crypto: [
    'randomBytes',
    'randomUUID',
    'randomInt',
    'randomFill',
    'randomFillSync',
    'getRandomValues',
    'webcrypto',
  ],
  timers: ['setTimeout', 'setInterval'],
  'timers/promises': ['setTimeout', 'setInterval', 'scheduler'],
  perf_hooks: ['performance'],
};

function takenFromTheMachine(file: SourceFile): string[] {
  const found: string[] = [];
  eachNode(file.tree, (node) => {
    const name = forbiddenCall(node) ?? forbiddenImport(node);
    if (name !== undefined) found.push(`${placeOf(file, node)} takes ${name}`);
  });
  return found;
}

function forbiddenCall(node: ts.Node): string | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === 'Date' && !node.arguments?.length)
    return 'new Date()';
  // Named without a call it is handed on, which is the same.
  if (ts.isPropertyAccessExpression(node)) {
    const name = node.getText().replace(/^globalThis\./, '');
    return FORBIDDEN_CALLS.includes(name) ? name : undefined;
  }
  if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return undefined;
  return FORBIDDEN_CALLS.includes(node.expression.text) ? node.expression.text : undefined;
}

function forbiddenImport(node: ts.Node): string | undefined {
  if (!ts.isImportDeclaration(node) || !ts.isStringLiteral(node.moduleSpecifier)) return undefined;
  const forbidden = FORBIDDEN_IMPORTS[node.moduleSpecifier.text.replace(/^node:/, '')];
  const named = node.importClause?.namedBindings;
  if (!forbidden || !named || !ts.isNamedImports(named)) return undefined;
  return named.elements
    .map(({ propertyName, name }) => (propertyName ?? name).text)
    .find((name) => forbidden.includes(name));
}

const files = sourceFiles('src', 'commands').filter(
  // The last one is Node's own modules for a browser.
  ({ path }) => !/^src\/(?:host\/|client\/web\/node\.ts$)/.test(path),
);

it('only the host layer takes time or randomness from the machine', () => {
  const taken = files.flatMap(takenFromTheMachine);
  expect(taken.filter((each) => !/^commands\/.* takes Date\.now$/.test(each))).toEqual([]);
});

it.each([
  'Date.now();',
  'const now = Date.now;',
  'new Date();',
  'new Date;',
  'setTimeout(f, 1);',
  'globalThis.setInterval(f, 1);',
  'Math.random();',
  'performance.now();',
  "import { randomUUID } from 'node:crypto';",
  "import { randomBytes as bytes } from 'crypto';",
  "import { setTimeout } from 'node:timers/promises';",
])('notices %s', (text) => {
  expect(takenFromTheMachine(parsed('src/control/x.ts', text))).toHaveLength(1);
});

it.each([
  'new Date(5);',
  'Date.parse("x");',
  'clock.now();',
  "import { createHash } from 'node:crypto';",
  'setImmediate(f);',
])('permits %s', (text) => {
  expect(takenFromTheMachine(parsed('src/control/x.ts', text))).toEqual([]);
});
