// Places of a text, also where the YAML library counts other lines.
import { expect, it } from 'vitest';
import { TextLines } from '../../../src/config/text-lines.ts';
import { readYaml } from '../../../src/config/yaml-document.ts';

it.each([
  ['', 0, 1, 1],
  ['ab', 2, 1, 3],
  ['a\nb', 2, 2, 1],
  ['a\n\n\nbc', 5, 4, 2],
  ['a\r\nb', 3, 2, 1],
])('%j at %i', (text, offset, line, column) => {
  expect(new TextLines(text).placeOf(offset)).toEqual({ line, column });
});

it('counts line ends inside misplaced tokens', () => {
  const text = '|\n      a\n     b\nc: d\n\n  e: f\n      g: h\n';
  const { problems } = readYaml(text, 'f');
  const lines = text.split('\n');
  expect(problems.length).toBeGreaterThan(3);
  for (const { line = 0, column = 0 } of problems)
    expect(lines[line - 1]?.length).toBeGreaterThanOrEqual(column);
});
