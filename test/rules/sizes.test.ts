// Nothing grows past what one can read at a sitting. The aim is far lower: files 120 lines, functions 20, run() 15.
import ts from 'typescript';
import { expect, it } from 'vitest';
import { eachNode, parsed, placeOf, type SourceFile, sourceFiles } from '../support/checks/source-files.ts';

const MOST = { file: 300, function: 45, run: 25 };

type AnyFunction = ts.FunctionLikeDeclaration;

function functionsOf({ tree }: SourceFile): AnyFunction[] {
  const found: AnyFunction[] = [];
  eachNode(tree, (node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body) found.push(node as AnyFunction);
  });
  return found;
}

function linesOf(tree: ts.SourceFile, node: ts.Node): number {
  const line = (position: number) => tree.getLineAndCharacterOfPosition(position).line;
  return line(node.getEnd()) - line(node.getStart()) + 1;
}

function tooLong(file: SourceFile): string[] {
  const isRun = (node: AnyFunction) => file.path.startsWith('commands/') && node.name?.getText() === 'run';
  const total = file.text.trimEnd().split('\n').length;
  const functions = functionsOf(file).flatMap((node) => {
    const [lines, most] = [linesOf(file.tree, node), isRun(node) ? MOST.run : MOST.function];
    const name = node.name?.getText() ?? 'a function';
    return lines > most ? [`${placeOf(file, node)} ${name} has ${lines} lines, the most is ${most}`] : [];
  });
  return total > MOST.file
    ? [`${file.path} has ${total} lines, the most is ${MOST.file}`, ...functions]
    : functions;
}

function withoutOpening({ path, text }: SourceFile): string[] {
  return /^\/\/ \S/.test(text) ? [] : [`${path} does not open with what it is for`];
}

const files = sourceFiles('src', 'commands', 'bench');

it('files and functions are short', () => {
  expect(files.flatMap(tooLong)).toEqual([]);
});

it('every file opens with what it is for', () => {
  expect([...files, ...sourceFiles('test', 'proof')].flatMap(withoutOpening)).toEqual([]);
});

it('commands/ holds commands and nothing else', () => {
  const others = sourceFiles('commands').filter(
    ({ text }) => !/export default class \w+ extends \w*Command\b/.test(text),
  );
  expect(others.map(({ path }) => path)).toEqual([]);
});

it('names say what things are', () => {
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

it('notices what is too long', () => {
  const body = (count: number) => 'x();\n'.repeat(count);
  expect(tooLong(parsed('src/a/a.ts', body(301)))).toHaveLength(1);
  expect(tooLong(parsed('src/a/a.ts', `function f() {\n${body(44)}}`))).toEqual([
    'src/a/a.ts:1 f has 46 lines, the most is 45',
  ]);
  expect(tooLong(parsed('commands/a.ts', `class A {\nasync run() {\n${body(24)}}\n}`))).toHaveLength(1);
  expect(tooLong(parsed('commands/a.ts', `class A {\nasync run() {\n${body(23)}}\n}`))).toEqual([]);
  expect(tooLong(parsed('src/a/a.ts', `const f = () => {\n${body(44)}};`))).toHaveLength(1);
});
