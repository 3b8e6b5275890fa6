// List cursors: opaque to clients, the place of the last record of a page to us. A cursor is a client's word, never trusted.
import { ServiceError } from './errors.ts';

export interface Place {
  created_at: string;
  id: string;
}

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** Ids, and owners: these may have any letters. */
const ID = /^[^\s\p{Cc}\p{Cs}]{1,256}$/u;

export function formatCursor({ created_at, id }: Place): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

/** Throws `bad_request` for what `formatCursor` cannot have made. */
export function parseCursor(text: string): Place {
  const [created_at = '', id = '', ...rest] = Buffer.from(text, 'base64url').toString().split(' ');
  const place = { created_at, id };
  if (rest.length > 0 || !STAMP.test(created_at) || !ID.test(id) || formatCursor(place) !== text)
    throw new ServiceError('bad_request', 'cursor is not one of ours.', {
      remedy: 'Pass on X-Next-Cursor of the page before as it is.',
    });
  return place;
}
