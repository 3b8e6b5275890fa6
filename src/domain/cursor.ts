// List cursors: opaque to clients; for the server, the position of the last record of a page. A cursor comes from a
// client and is never trusted.
import { ServiceError } from './errors.ts';

export interface Cursor {
  created_at: string;
  id: string;
}

/**
 * A timestamp and an id. The id may be any text: it is only compared, so one that names nothing is a valid position.
 */
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
