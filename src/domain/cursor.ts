// List cursors: opaque to clients, the place of the last record of a page to us. A cursor is a client's word, never trusted.
import { ServiceError } from './errors.ts';

export interface Cursor {
  created_at: string;
  id: string;
}

/** A stamp and an id. The id may be anything: it is only compared, and one that names nothing is a place all the same. */
const PLACE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (.+)$/s;

export function formatCursor({ created_at, id }: Cursor): string {
  return Buffer.from(`${created_at} ${id}`).toString('base64url');
}

/** Throws `bad_request` for what is not base64url of a stamp and an id. */
export function parseCursor(text: string): Cursor {
  const bytes = Buffer.from(text, 'base64url');
  const [, created_at, id] = PLACE.exec(bytes.toString()) ?? [];
  if (created_at === undefined || id === undefined || bytes.toString('base64url') !== text)
    throw new ServiceError('bad_request', 'cursor is not valid.', {
      remedy: 'Send the X-Next-Cursor header of the previous page unchanged.',
    });
  return { created_at, id };
}
