// Frames of Connect streams: `flags (1 byte) · length (4 bytes, big endian) · JSON`. Flag 2 marks the last frame of an answer.
import { ServiceError } from '../../../domain/errors.ts';

export const FRAME_HEAD = 5;
const COMPRESSED = 1;
const LAST = 2;

export const messageFrame = (message: object): Buffer => frame(0, message);
export const lastFrame = (end: object): Buffer => frame(LAST, end);

function frame(flags: number, message: object): Buffer {
  const text = JSON.stringify(message);
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(FRAME_HEAD + length);
  bytes.writeUInt8(flags, 0);
  bytes.writeUInt32BE(length, 1);
  bytes.write(text, FRAME_HEAD);
  return bytes;
}

/** Yields the messages of a request's body, however it is cut. Throws `bad_request` for a compressed or a broken one. */
export async function* requestFrames(body: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of body) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    for (;;) {
      const size = sizeOf(rest, limit);
      if (size === undefined || rest.length < size) break;
      const isLast = ((rest[0] ?? 0) & LAST) !== 0;
      const message = rest.subarray(FRAME_HEAD, size);
      rest = rest.subarray(size);
      if (!isLast) yield message;
    }
  }
  if (rest.length > 0) throw new ServiceError('bad_request', 'The last frame of the body is incomplete.');
}

/** Bytes of the frame that begins here; undefined while its head is incomplete. */
function sizeOf(bytes: Buffer, limit: number): number | undefined {
  if (bytes.length < FRAME_HEAD) return undefined;
  if (((bytes[0] ?? 0) & COMPRESSED) !== 0)
    throw new ServiceError('bad_request', 'Compressed frames are not supported.', {
      remedy: 'Send Connect-Content-Encoding: identity.',
    });
  const length = bytes.readUInt32BE(1);
  if (length > limit)
    throw new ServiceError('payload_too_large', `The frame is larger than the limit of ${limit} bytes.`);
  return FRAME_HEAD + length;
}
