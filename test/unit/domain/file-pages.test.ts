// Pages of a listing: order, cursors, and folders that change in between.
import { expect, it } from 'vitest';
import { pageOf } from '../../../src/domain/file-pages.ts';

const entries = (...paths: string[]) => paths.map((path) => ({ path }));
/** As the agent lists: a folder before what it holds, names by their bytes. */
const ALL = entries('/w/a', '/w/a/b', '/w/a/z', '/w/a.txt', '/w/b', '/w/ü', '/w/\u{1f600}');

it('is all of a folder unless a limit is given', () => {
  expect(pageOf(ALL, {})).toEqual({ entries: ALL });
  expect(pageOf(ALL, { limit: 7 })).toEqual({ entries: ALL });
});

it.each([1, 2, 3, 6])('walks a folder in pages of %i', (limit) => {
  const walked: { path: string }[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = pageOf(ALL, { limit, cursor });
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    walked.push(...page.entries);
    cursor = page.next_cursor;
  }
  expect(walked).toEqual(ALL);
});

it('goes on behind an entry that is gone meanwhile', () => {
  const { next_cursor } = pageOf(ALL, { limit: 3 });
  const without = ALL.filter(({ path }) => path !== '/w/a/z');
  expect(pageOf(without, { cursor: next_cursor }).entries).toEqual(ALL.slice(3));
});

it.each(['', '!', 'YQ', Buffer.from('no path').toString('base64url')])('refuses the cursor %j', (cursor) => {
  expect(() => pageOf(ALL, { cursor })).toThrow(expect.objectContaining({ code: 'bad_request' }));
});
