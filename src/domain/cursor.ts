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

export const formatCursor = ({ created_at, id }: Cursor): string => formatPlace(`${created_at} ${id}`);

/** Throws `bad_request` for what is not base64url of a stamp and an id. */
export function parseCursor(text: string): Cursor {
  const [, created_at, id] = PLACE.exec(parsePlace(text)) ?? [];
  if (created_at === undefined || id === undefined) throw invalidCursor();
  return { created_at, id };
}

/** The cursor of a list whose position is any text. */
export const formatPlace = (place: string): string => Buffer.from(place).toString('base64url');

/** What `formatPlace` was given. Throws `bad_request` for what is not base64url. */
export function parsePlace(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw invalidCursor();
  return bytes.toString();
}

export const invalidCursor = (): ServiceError =>
  new ServiceError('bad_request', 'cursor is not valid.', {
    remedy: 'Send the X-Next-Cursor header of the previous page unchanged.',
  });
