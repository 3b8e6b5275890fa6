// Tables line up and carry no control bytes, whatever the names in them are.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { columnsOf } from '../../../src/cli/fit-columns.ts';
import { paintFor } from '../../../src/cli/paint.ts';
import { age, type Column, facts, table } from '../../../src/cli/render.ts';
import { printable, printableLines } from '../../../src/domain/printable.ts';

interface Row {
  name: string;
  size?: number;
}
const columns: Column<Row>[] = [
  { title: 'name', value: (row) => row.name },
  { title: 'size', value: (row) => row.size, align: 'right' },
];

it('aligns columns', () => {
  expect(table([{ name: 'a', size: 5 }, { name: '日本', size: 1234 }, { name: '' }], columns)).toBe(
    ['NAME  SIZE', 'a        5', '日本  1234', '-        -'].join('\n'),
  );
  expect(table([], columns, 'No rows.')).toBe('No rows.');
});

it('renders many rows', () => {
  const rows = Array.from({ length: 200_000 }, (_, size) => ({ name: 'x', size }));
  expect(table(rows, columns).split('\n')).toHaveLength(200_001);
});

it('shows control characters instead of sending them', () => {
  expect(printable('a\x1b[31m\r\n\t\x07\x9b\u202e\ufeff\ud800')).toBe(
    'a\\x1b[31m\\r\\n\\t\\x07\\x9b\\u{202e}\\u{feff}\\u{d800}',
  );
  expect(printableLines('one\r\ntwo\x00')).toBe('one\ntwo\\x00');
  expect(printable('žluťoučký 日本 👩‍👩‍👧 ok')).toBe('žluťoučký 日本 👩‍👩‍👧 ok');
});

it('renders rows of hostile names on one line each, at one width', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 30 }), { minLength: 1, maxLength: 8 }),
      (names) => {
        const [title = '', ...lines] = table(
          names.map((name) => ({ name, size: 1 })),
          columns,
        ).split('\n');
        expect(lines).toHaveLength(names.length);
        for (const line of lines) {
          expect(line).not.toMatch(/\p{Cc}/u);
          expect(columnsOf(line)).toBe(columnsOf(title));
        }
      },
    ),
    { numRuns: 2000, examples: [[['\u{11a84}', '']], [['\u0301', '\u200d', '👩']]] },
  );
});

it('counts the columns of wide and combined characters', () => {
  const widths = {
    abc: 3,
    日本: 4,
    é: 1,
    'e\u0301': 1,
    '👩‍👩‍👧': 2,
    '👍🏽': 2,
    '🇨🇿': 2,
    한글: 4,
    ｱ: 1,
    '': 0,
  };
  for (const [text, width] of Object.entries(widths)) expect([text, columnsOf(text)]).toEqual([text, width]);
});

it('leaves out absent fields', () => {
  expect(
    facts([
      ['id', 'sb-1'],
      ['long name', ['a', 'b\n']],
      ['none', undefined],
      ['empty', []],
    ]),
  ).toBe(['id:         sb-1', 'long name:  a', '            b\\n'].join('\n'));
});

it('shows ages in the largest unit', () => {
  const now = Date.UTC(2026, 0, 2);
  const at = (ms: number) => age(new Date(now + ms).toISOString(), now);
  expect([at(0), at(-999), at(-61_000), at(-7_200_000), at(-90_000_000_0), at(3_600_000)]).toEqual([
    '0s',
    '0s',
    '1m',
    '2h',
    '10d',
    'in 1h',
  ]);
  expect(age('nonsense', now)).toBe('-');
});

it('uses colours only on a terminal', () => {
  const red = (tty: boolean, env: Record<string, string>) => paintFor({ isTTY: tty }, env).red('x');
  expect(red(true, {})).toBe('\x1b[31mx\x1b[39m');
  for (const plain of [red(false, {}), red(true, { NO_COLOR: '1' }), red(true, { TERM: 'dumb' })])
    expect(plain).toBe('x');
});
