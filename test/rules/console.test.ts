// What holds in the console beside the rules for all code: its page admits nothing inline, so its source has none; it sends requests
// to its own server alone; and it shares only shapes and pure rules with the server.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';
import { eachNode } from '../support/checks/source-files.ts';

const MOST = { lines: 300, statements: 45 };
const PACKAGES = ['preact', 'preact/hooks', '@preact/signals', '@xterm/xterm', '@xterm/addon-fit'];
/** Of the server's source: shapes, and rules without a clock, disk or network. */
const SHARED = ['src/schema/', 'src/domain/'];

const files = readdirSync(join(packageRoot(), 'console/src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .sort()
  .map((name) => {
    const path = `console/src/${name}`;
    const text = readFileSync(join(packageRoot(), path), 'utf8');
    return {
      path,
      text,
      tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, ts.ScriptKind.TSX),
    };
  });

/** Words that the policy of the page forbids, or that keep or send what must stay; and where they are right all the same. */
const FORBIDDEN: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\b(?:inner|outer)HTML\b|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write/, []],
  [/\beval\s*\(|new Function\b/, []],
  [/\bstyle="/, []],
  [/\blocalStorage\b/, ['console/src/app/settings.ts']],
  [/\bsessionStorage\b/, ['console/src/app/session.ts']],
  [/document\.cookie/, []],
  [/https?:\/\//, []],
  [/\bsendBeacon\b|\bEventSource\b|\bserviceWorker\b/, []],
];

const forbiddenIn = (path: string, text: string) =>
  FORBIDDEN.flatMap(([word, allowed]) =>
    text.split('\n').flatMap((line, at) => {
      const isComment = /^\s*(?:\/\/|\*|\/\*)/.test(line);
      return !isComment && word.test(line) && !allowed.includes(path)
        ? [`${path}:${at + 1} ${line.trim()}`]
        : [];
    }),
  );

it('has no inline script or style, no storage but its own, and no address of another server', () => {
  expect(files.flatMap(({ path, text }) => forbiddenIn(path, text))).toEqual([]);
  // The rule can fail.
  expect(
    forbiddenIn('console/src/x.tsx', "fetch('https://example.com'); box.innerHTML = text;"),
  ).toHaveLength(2);
});

it('imports its own parts, shapes and pure rules of the server, and few packages', () => {
  const wrong = files.flatMap(({ path, tree }) =>
    tree.statements.flatMap((statement) => {
      if (!ts.isImportDeclaration(statement)) return [];
      const from = (statement.moduleSpecifier as ts.StringLiteral).text;
      if (!from.startsWith('.')) return PACKAGES.includes(from) ? [] : [`${path}: ${from}`];
      const target = join(path, '..', from);
      const isOwn = target.startsWith('console/src/');
      return isOwn || SHARED.some((folder) => target.startsWith(folder)) ? [] : [`${path}: ${target}`];
    }),
  );
  expect(wrong).toEqual([]);
});

it('files and functions are short, and every file says what it is for', () => {
  const wrong = files.flatMap(({ path, text, tree }) => {
    const found: string[] = [];
    const lines = text.trimEnd().split('\n').length;
    if (lines > MOST.lines) found.push(`${path} has ${lines} lines`);
    if (!/^\/\/ \S/.test(text)) found.push(`${path} does not open with what it is for`);
    eachNode(tree, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return;
      let count = 0;
      eachNode(node.body, (inner) => {
        count += Number(ts.isStatement(inner) && !ts.isBlock(inner));
      });
      if (count > MOST.statements)
        found.push(`${path}: ${node.name?.getText() ?? 'a function'} has ${count} statements`);
    });
    return found;
  });
  expect(wrong).toEqual([]);
});
