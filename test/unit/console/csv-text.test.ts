// Rows that the console saves as CSV: read back as they were, whatever is in them, and not calculated by a spreadsheet.
import { expect, it } from 'vitest';
import { csvOf } from '../../../console/src/parts/csv-text.ts';

it('quotes what needs it, and leaves absent fields empty', () => {
  const rows = [
    { id: 'a', owner: 'x, "y"' },
    { id: 'b\r\nc', owner: undefined },
  ];
  expect(csvOf(['id', 'owner'], rows)).toBe('id,owner\r\na,"x, ""y"""\r\n"b\r\nc",\r\n');
});

it('makes text of what would be a formula, and leaves numbers alone', () => {
  const rows = ['=1+1', '+1', '-1', '@x', '\tx'].map((text) => ({ text, count: -1 }));
  expect(csvOf(['text', 'count'], rows).split('\r\n').slice(1, -1)).toEqual([
    "'=1+1,-1",
    "'+1,-1",
    "'-1,-1",
    "'@x,-1",
    "'\tx,-1",
  ]);
});
