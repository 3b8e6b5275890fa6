// The Range header (RFC 9110 part 14). A range that is malformed, in another unit, or one of several is ignored as the
// RFC allows: the response is then the entire content.
import type { IncomingHttpHeaders } from 'node:http';
import type { ByteRange } from '../../control/api/files.ts';

const ONE_RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i;

/** Undefined means the entire content. With If-Range too, because no validator is ever sent that could match. */
export function parseRange(headers: IncomingHttpHeaders): ByteRange | undefined {
  const match = ONE_RANGE.exec(headers.range?.replaceAll(' ', '') ?? '');
  if (!match || headers['if-range'] !== undefined) return undefined;
  const [, first, last, suffix] = match;
  if (suffix !== undefined) return { suffix: Number(suffix) };
  if (last === undefined) return { first: Number(first) };
  return Number(last) < Number(first) ? undefined : { first: Number(first), last: Number(last) };
}
