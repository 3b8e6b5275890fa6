// Pages of a listing, in which a folder comes before what it holds and names are sorted by their bytes. A page starts after a path,
// which need not exist any more.

import { formatPlace, invalidCursor, parsePlace } from './cursor.ts';

/** Whether `path` comes after `after` in that order. */
function isAfter(path: string, after: string): boolean {
  const [ours, theirs] = [path.split('/'), after.split('/')];
  for (const [at, part] of ours.entries()) {
    const other = theirs[at];
    if (other === undefined) return true;
    if (part !== other) return Buffer.compare(Buffer.from(part), Buffer.from(other)) > 0;
  }
  return false;
}

/** `all` is in that order. Throws `bad_request` for a cursor that is none. */
export function pageOf<T extends { path: string }>(
  all: T[],
  { limit, cursor }: { limit?: number | undefined; cursor?: string | undefined },
): { entries: T[]; next_cursor?: string } {
  const first = cursor === undefined ? 0 : firstAfter(all, pathOf(cursor));
  if (first === 0 && limit === undefined) return { entries: all };
  const entries = all.slice(first, limit === undefined ? undefined : first + limit);
  const last = entries.at(-1);
  if (last === undefined || first + entries.length === all.length) return { entries };
  return { entries, next_cursor: formatPlace(last.path) };
}

/** The path need not exist. Throws `bad_request` for what is not base64url of a path. */
function pathOf(cursor: string): string {
  const path = parsePlace(cursor);
  if (!path.startsWith('/')) throw invalidCursor();
  return path;
}

function firstAfter(all: readonly { path: string }[], after: string): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isAfter(all[middle]!.path, after)) high = middle;
    else low = middle + 1;
  }
  return low;
}
