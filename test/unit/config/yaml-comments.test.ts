// Comments are taken out only where that changes nothing.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isScalar, type Node, parseDocument, visit } from 'yaml';
import { TextLines } from '../../../src/config/text-lines.ts';
import { withoutComments } from '../../../src/config/yaml-comments.ts';
import { readYaml } from '../../../src/config/yaml-document.ts';

/** Values with the lines and columns where they begin. */
function seen(contents: unknown, text: string): unknown[] {
  const lines = new TextLines(text);
  const all: unknown[] = [];
  visit(contents as never, (_, node) => {
    if (isScalar(node) && node.value !== null) all.push([node.value, lines.placeOf(node.range?.[0] ?? 0)]);
  });
  return all;
}
function same(given: string): void {
  const { contents, text } = readYaml(given, 'f');
  const whole = parseDocument(given);
  expect(seen(contents, text)).toEqual(seen(whole.contents, given));
  expect((contents as Node | null)?.toJS(whole)).toEqual(whole.toJS());
}

test('svc.yaml has none left, the same values, and the same places', () => {
  const text = readFileSync('svc.yaml', 'utf8');
  expect(withoutComments(text)).not.toContain('# ');
  same(text);
});

test.each([
  'a:\n  # one\n  b: 1\n# two\nc: [x, "y"] # three\nd:\n# four\n',
  'a:\n  # one\n  - x: 1\n    # two\n    y: "z"\n  - w\n',
  'a: \'b\'\n  # one\nc: {"d":"e"}\n# two\nf: g h\n',
])('they are taken out of plain entries: %j', (text) => {
  expect(withoutComments(text)).not.toMatch(/^ *#/m);
  same(text);
});

test.each([
  'a: |\n  # text\n  b: 1\n',
  'a: >-\n  x: 1\n  # text\n',
  'a: "b\n  # text"\n',
  "a: 'b\n  # text\n  c: d'\n",
  'a: [b,\n  # one\n  c]\n',
  'a: b\n  # one\n  - c\n',
  'a: b\n  # one\n  c: d\n',
  '- b\n  # one\n  - c\n',
  'a: &x 1\n# one\nb: *x\n',
  'a:\n  "b\n  # text\n  c": 1\n',
  '# one\nword\n',
])('other texts are left as they are: %j', (text) => {
  expect(withoutComments(text)).toBe(text);
});

test('problems are those of the text', () => {
  const text = '# one\na: 1\n# two\nb: x: y\n';
  expect(withoutComments(text)).not.toBe(text);
  expect(readYaml(text, 'f').problems).toMatchObject([{ line: 4 }]);
});
