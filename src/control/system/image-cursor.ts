// Cursors of lists of images: the reference and the worker of the last image of a page. They come from clients and are never trusted.
import { formatPlace, invalidCursor, parsePlace } from '../../domain/cursor.ts';

export interface ImagePosition {
  reference: string;
  worker_id: string;
}

/** Neither has a blank. */
const POSITION = /^(\S{1,512}) (\S{1,128})$/;

export const formatImageCursor = ({ reference, worker_id }: ImagePosition): string =>
  formatPlace(`${reference} ${worker_id}`);

/** Throws `bad_request`. */
export function parseImageCursor(text: string): ImagePosition {
  const [, reference, worker_id] = POSITION.exec(parsePlace(text)) ?? [];
  if (reference === undefined || worker_id === undefined) throw invalidCursor();
  return { reference, worker_id };
}
