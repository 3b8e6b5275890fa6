// The body of a request, piece by piece, without ending the request when it is left early: its answer is still to be read.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';

/** What is taken before others have their turn: one connection may give megabytes at once. */
const TURN_BYTES = 128 * 1024;

/** Whether a body whose length is stated has come as a whole, and nothing of it was taken. */
export function hasCome({ readableLength, headers, destroyed }: IncomingMessage): boolean {
  return readableLength > 0 && readableLength === Number(headers['content-length']) && !destroyed;
}

/** Resolves after the last piece. Rejects with what `take` throws, which gets no further piece, or when the body breaks off. */
export function eachPiece(body: Readable, take: (piece: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let taken = 0;
    const leave = () => {
      body.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken);
    };
    const onData = (piece: Buffer) => {
      try {
        take(piece);
      } catch (error) {
        leave();
        return reject(error);
      }
      taken += piece.length;
      if (taken < TURN_BYTES) return;
      taken = 0;
      body.pause();
      setImmediate(() => body.resume());
    };
    const onEnd = () => {
      leave();
      resolve();
    };
    const onBroken = (cause?: Error) => {
      leave();
      reject(new ServiceError('bad_request', 'The request body is incomplete.', { cause }));
    };
    body.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken);
  });
}
