// One block of bytes for many chunked answers. Node frames a chunk for each of them, in four pieces that are joined by the kernel;
// here the chunk is made once and each connection gets it in one piece.
import type { ServerResponse } from 'node:http';

const chunks = new WeakMap<Buffer, Buffer>();

/** As `response.write(block)`; `block` must not change. The head is written already. */
export function writeShared(response: ServerResponse, block: Buffer): void {
  const { socket } = response;
  // Without its turn on the connection, or to a client of HTTP/1.0.
  if (!socket || !response.chunkedEncoding || response.writableEnded || block.length === 0)
    response.write(block);
  else if (socket.writable) socket.write(chunkOf(block));
}

/** RFC 9112 7.1 */
function chunkOf(block: Buffer): Buffer {
  const known = chunks.get(block);
  if (known) return known;
  const chunk = Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from('\r\n')]);
  chunks.set(block, chunk);
  return chunk;
}
