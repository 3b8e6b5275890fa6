// Nothing grows past what one can read at a sitting. The aim is far lower: files 120 lines, functions 20, run() 15.
import ts from 'typescript';
import { expect, it } from 'vitest';
import { spreadsOf } from '../../scripts/house/measure.js';
import { eachNode, parsed, placeOf, type SourceFile, sourceFiles } from '../support/checks/source-files.ts';

const MOST = { lines: 300, statements: 40, run: 20 };

type AnyFunction = ts.FunctionLikeDeclaration;

function functionsOf({ tree }: SourceFile): AnyFunction[] {
  const found: AnyFunction[] = [];
  eachNode(tree, (node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) found.push(node as AnyFunction);
  });
  return found;
}

/** Statements in the body, those of functions within it too; a function that is one expression counts as one. */
function statementsIn({ body }: AnyFunction): number {
  let count = 0;
  if (body)
    eachNode(body, (node) => {
      const isOne = ts.isStatement(node)
        ? !ts.isBlock(node)
        : ts.isArrowFunction(node) && !ts.isBlock(node.body);
      if (isOne) count++;
    });
  return count;
}

function tooLong(file: SourceFile): string[] {
  const isRun = (node: AnyFunction) => file.path.startsWith('commands/') && node.name?.getText() === 'run';
  const lines = file.text.trimEnd().split('\n').length;
  const functions = functionsOf(file).flatMap((node) => {
    const [count, most] = [statementsIn(node), isRun(node) ? MOST.run : MOST.statements];
    const name = node.name?.getText() ?? 'a function';
    return count > most
      ? [`${placeOf(file, node)} ${name} has ${count} statements, the most is ${most}`]
      : [];
  });
  return lines > MOST.lines
    ? [`${file.path} has ${lines} lines, the most is ${MOST.lines}`, ...functions]
    : functions;
}

function withoutOpening({ path, text }: SourceFile): string[] {
  return /^\/\/ \S/.test(text) ? [] : [`${path} does not open with what it is for`];
}

const files = sourceFiles('src', 'commands', 'bench');

it('files and functions are short', () => {
  expect(files.flatMap(tooLong)).toEqual([]);
});

it('every file starts with a comment on its purpose', () => {
  expect([...files, ...sourceFiles('test', 'proof')].flatMap(withoutOpening)).toEqual([]);
});

it('commands/ holds commands and nothing else', () => {
  const others = sourceFiles('commands').filter(
    ({ text }) => !/export default class \w+ extends \w*Command\b/.test(text),
  );
  expect(others.map(({ path }) => path)).toEqual([]);
});

it('type names are not vague', () => {
  // FileInfo is the specification's own name of a resource.
  const vague = /^(?!FileInfo$).*(?:Manager|Helper|Util|Impl|Base|Data|Info)s?$/;
  const found = files.flatMap((file) => {
    const names: string[] = [];
    eachNode(file.tree, (node) => {
      const isNamed =
        ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
      if (isNamed && node.name && vague.test(node.name.text))
        names.push(`${placeOf(file, node)} ${node.name.text}`);
    });
    return names;
  });
  expect(found).toEqual([]);
  expect(files.filter(({ path }) => /\/(?:utils?|helpers?|common|lib|index\.ts)(?:\/|$)/.test(path))).toEqual(
    [],
  );
  expect(files.filter(({ path }) => !/^[a-z0-9/.-]+$/.test(path)).map(({ path }) => path)).toEqual([]);
});

it('no literal is spread into another literal', () => {
  expect(spreadsOf(files)).toEqual([]);
});

it('rejects files and functions that are too long', () => {
  const body = (count: number) => 'x();\n'.repeat(count);
  expect(tooLong(parsed('src/a/a.ts', body(301)))).toHaveLength(1);
  expect(tooLong(parsed('src/a/a.ts', `function f() {\n${body(40)}}`))).toEqual([]);
  expect(tooLong(parsed('src/a/a.ts', `function f() {\n${body(41)}}`))).toEqual([
    'src/a/a.ts:1 f has 41 statements, the most is 40',
  ]);
  expect(tooLong(parsed('src/a/a.ts', `const f = () => {\nif (y) {\n${body(40)}}\n};`))).toHaveLength(1);
  expect(tooLong(parsed('commands/a.ts', `class A {\nasync run() {\n${body(21)}}\n}`))).toHaveLength(1);
  expect(tooLong(parsed('commands/a.ts', `class A {\nasync run() {\n${body(20)}}\n}`))).toEqual([]);
});

it('rejects spread literals', () => {
  const spreads = (text: string) => spreadsOf([parsed('src/a/a.ts', text)]);
  expect(spreads('const x = { ...{ a, b }, ...c }; const y = [...[1, 2]];')).toHaveLength(2);
  expect(spreads('const x = { ...(d && { d }), ...c };')).toEqual([]);
});
