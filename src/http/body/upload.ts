// Raw upload bodies: passed on as they come, cut off with `payload_too_large` at the limit. Whoever writes them sees
// the stream fail and takes back what it wrote.
import { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { tooLarge } from './body.ts';

/** What waits for its reader: what the connection brings in one turn. */
const AHEAD = 128 * 1024;

/** `body` held to `limit` bytes. Fails with a ServiceError when it is longer or breaks off. */
export function limitedUpload(body: Readable, limit: number): Readable {
  let size = 0;
  const upload = new Readable({
    highWaterMark: AHEAD,
    read: () => void body.resume(),
    // What is left of the body is somebody else's to drop.
    destroy: (error, done) => {
      body.off('data', take);
      if (!body.readableEnded) body.pause();
      done(error);
    },
  });
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) upload.destroy(tooLarge(limit));
    else if (!upload.push(chunk)) body.pause();
  };
  const end = () => void upload.push(null);
  const broken = () => {
    if (!body.readableEnded) upload.destroy(new ServiceError('bad_request', 'The upload is incomplete.'));
  };
  body.on('data', take).once('end', end).once('error', broken).once('close', broken).pause();
  // The reader gets the failure; until there is a reader, it must not end the process.
  upload.on('error', () => undefined);
  return upload;
}

/** The result of `work`, or the failure of the upload itself where that is why it failed. */
export async function orUploadFailure<T>(upload: Readable, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const cause = upload.errored instanceof ServiceError ? upload.errored : error;
    upload.destroy();
    throw cause;
  }
}
