// Byte ranges of a file read (RFC 9110, part 14): maps the request and the file's size to the bytes to send.
import { ServiceError } from './errors.ts';

/** `first` to `last` inclusive (to the end without), or the last `suffix` bytes. */
export type ByteRange = { first: number; last?: number } | { suffix: number };

/** The inclusive span of `range` in a file of `size` bytes. Throws `bad_request` with status 416 when there is none. */
export function resolveRange(range: ByteRange, size: number): { first: number; last: number } {
  const suffix = 'suffix' in range;
  const first = suffix ? Math.max(0, size - range.suffix) : range.first;
  const last = suffix ? size - 1 : Math.min(range.last ?? size - 1, size - 1);
  if (first > last || first >= size)
    throw new ServiceError('bad_request', `The range lies outside the file, which has ${size} bytes.`, {
      status: 416,
      details: { size },
    });
  return { first, last };
}
