// Raw upload bodies: passed on as they come, cut off with `payload_too_large` at the limit. Whoever writes them sees
// the stream fail and takes back what it wrote.
import { type Readable, Transform } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { tooLarge } from './body.ts';

/** `body` held to `limit` bytes. Fails with a ServiceError when it is longer or breaks off. */
export function limitedUpload(body: Readable, limit: number): Readable {
  let size = 0;
  const upload = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      if (size > limit) done(tooLarge(limit));
      else done(null, chunk);
    },
  });
  const broken = () => {
    if (!body.readableEnded) upload.destroy(new ServiceError('bad_request', 'The upload is incomplete.'));
  };
  body.once('error', broken).once('close', broken);
  // The reader gets the failure; until there is a reader, it must not end the process.
  upload.on('error', () => body.unpipe(upload));
  return body.pipe(upload);
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
