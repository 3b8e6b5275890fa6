// The Range header: one range is honoured, everything odd means the whole.
import { expect, it } from 'vitest';
import { parseRange } from '../../../../src/http/headers/range.ts';

it.each([
  ['bytes=0-0', { first: 0, last: 0 }],
  ['bytes=5-', { first: 5 }],
  ['bytes=-7', { suffix: 7 }],
  ['Bytes = 1 - 2', { first: 1, last: 2 }],
  ['bytes=2-1', undefined],
  ['bytes=-', undefined],
  ['bytes=a-b', undefined],
  ['bytes=0-1,3-4', undefined],
  ['bytes=0-9999999999999999', undefined],
  ['lines=0-1', undefined],
  ['bytes=+1-2', undefined],
  ['', undefined],
])('%j is %o', (range, expected) => {
  expect(parseRange({ range })).toEqual(expected);
});

it('returns the complete file for an If-Range that the server cannot check', () => {
  expect(parseRange({ range: 'bytes=0-1', 'if-range': '"etag"' })).toBeUndefined();
  expect(parseRange({})).toBeUndefined();
});
