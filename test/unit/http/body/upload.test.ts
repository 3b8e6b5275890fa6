// Raw uploads: what comes is passed on as it comes, and whoever is refused leaves a body that can still be dropped.
import { PassThrough, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { limitedUpload, orUploadFailure } from '../../../../src/http/body/upload.ts';

const PIECE = Buffer.alloc(64 * 1024, 'x');

it('passes all of a body on, in its pieces, as fast as it is read', async () => {
  const upload = limitedUpload(Readable.from(Array(40).fill(PIECE)), 40 * PIECE.length);
  const sizes: number[] = [];
  upload.on('data', ({ length }: Buffer) => {
    sizes.push(length);
    upload.pause();
    setImmediate(() => upload.resume());
  });
  await new Promise((resolve) => upload.once('end', resolve));
  expect(sizes).toEqual(Array(40).fill(PIECE.length));
});

it('reads no further ahead than two pieces', async () => {
  const body = new PassThrough({ highWaterMark: 16 * PIECE.length });
  const upload = limitedUpload(body, 100 * PIECE.length);
  for (let count = 0; count < 10; count++) body.write(PIECE);
  upload.read(0);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(upload.readableLength).toBe(2 * PIECE.length);
  expect(body.readableFlowing).toBe(false);
  body.end();
  expect((await buffer(upload)).length).toBe(10 * PIECE.length);
});

it('fails above the limit, and leaves the rest to whoever drops it', async () => {
  const body = new PassThrough();
  const upload = limitedUpload(body, PIECE.length);
  const failure = orUploadFailure(upload, buffer(upload));
  body.write(PIECE);
  body.write('y');
  await expect(failure).rejects.toMatchObject({ code: 'payload_too_large' });
  expect([body.listenerCount('data'), body.destroyed]).toEqual([0, false]);
  const ended = new Promise((resolve) => body.once('end', resolve));
  body.resume().end(PIECE);
  await ended;
});

it('fails when the body breaks off', async () => {
  const body = new PassThrough();
  const upload = limitedUpload(body, PIECE.length);
  const failure = orUploadFailure(upload, buffer(upload));
  body.write('half');
  body.destroy();
  await expect(failure).rejects.toMatchObject({ code: 'bad_request', message: 'The upload is incomplete.' });
});
