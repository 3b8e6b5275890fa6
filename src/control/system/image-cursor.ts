// Cursors of lists of images: the reference and the worker of the last image of a page. They come from clients and are never trusted.
import { ServiceError } from '../../domain/errors.ts';

export interface ImagePosition {
  reference: string;
  worker_id: string;
}

/** Neither has a blank. */
const POSITION = /^(\S{1,512}) (\S{1,128})$/;

export const formatImageCursor = ({ reference, worker_id }: ImagePosition): string =>
  Buffer.from(`${reference} ${worker_id}`).toString('base64url');

/** Throws `bad_request`. */
export function parseImageCursor(text: string): ImagePosition {
  const bytes = Buffer.from(text, 'base64url');
  const [, reference, worker_id] = POSITION.exec(bytes.toString()) ?? [];
  if (reference === undefined || worker_id === undefined || bytes.toString('base64url') !== text)
    throw new ServiceError('bad_request', 'cursor is not valid.', {
      remedy: 'Send the X-Next-Cursor header of the previous page unchanged.',
    });
  return { reference, worker_id };
}
