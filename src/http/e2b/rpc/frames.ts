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

/**
 * Yields the messages of a request's body, however it is cut. It calls `keeps` with the number of bytes that wait for the end of their frame.
 * Throws `bad_request` for a compressed or a broken one.
 */
export async function* requestFrames(
  body: AsyncIterable<Buffer>,
  limit: number,
  keeps: (bytes: number) => void = () => undefined,
): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let held = 0;
  let wanted = FRAME_HEAD;
  for await (const piece of body) {
    pieces.push(piece);
    held += piece.length;
    keeps(held);
    // Joined once a frame is complete, and not at each piece of it.
    if (held < wanted) continue;
    let rest = pieces.length === 1 ? piece : Buffer.concat(pieces);
    for (;;) {
      const size = sizeOf(rest, limit);
      wanted = size ?? FRAME_HEAD;
      if (size === undefined || rest.length < size) break;
      const isLast = ((rest[0] ?? 0) & LAST) !== 0;
      const message = rest.subarray(FRAME_HEAD, size);
      rest = rest.subarray(size);
      if (!isLast) yield message;
    }
    pieces = [rest];
    held = rest.length;
  }
  if (held > 0) throw new ServiceError('bad_request', 'The last frame of the body is incomplete.');
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
