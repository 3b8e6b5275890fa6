// How little is divided between many.
import { expect, it } from 'vitest';
import { fairShares } from '../../../src/domain/fair-shares.ts';

it.each<[Record<string, number>, number, Record<string, number>]>([
  [{}, 5, {}],
  [{ a: 9 }, 5, { a: 5 }],
  [{ a: 9, b: 1 }, 5, { a: 4, b: 1 }],
  [{ a: 9, b: 9, c: 9 }, 6, { a: 2, b: 2, c: 2 }],
  [{ a: 100, b: 3, c: 3 }, 7, { a: 3, b: 2, c: 2 }],
  [{ a: 1, b: 1 }, 9, { a: 1, b: 1 }],
  [{ a: 4, b: 4 }, 0, { a: 0, b: 0 }],
])('divides for the requests %o of %i', (asked, most, expected) => {
  expect(Object.fromEntries(fairShares(new Map(Object.entries(asked)), most))).toEqual(expected);
});
