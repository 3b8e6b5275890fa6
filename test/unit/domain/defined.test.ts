// Objects without their absent fields.
import { expect, it } from 'vitest';
import { defined } from '../../../src/domain/defined.ts';

it('leaves out only undefined, and keeps the order', () => {
  const all = defined({ b: undefined as string | undefined, a: 0, d: '', c: null, e: false });
  expect(Object.entries(all)).toEqual([
    ['a', 0],
    ['d', ''],
    ['c', null],
    ['e', false],
  ]);
});
