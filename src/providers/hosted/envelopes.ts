// The framing of an event stream from a sandbox: u8 flags, u32 length big endian, JSON. The library builds each event in
// memory, so each is bounded in size and in JSON structure while it passes.
// https://connectrpc.com/docs/protocol/#streaming-rpcs
import { JsonStructure } from '../../domain/json-structure.ts';
import { invalidReply, orInvalidJson } from '../outgoing/faults.ts';

const HEAD = 5;
/** The backend sends output in pieces of some tens of KiB. */
const MAX_EVENT = 1024 * 1024;
const STRUCTURE = { depth: 16, tokens: 1000 };
const WHAT = 'The hosted backend';

/** Passes the bytes of `body` on. Throws `provider_error` for an event that is too large or has too much structure. */
export async function* envelopes(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const walk = new EnvelopeReader();
  for await (const part of body) {
    try {
      walk.take(part);
    } catch (error) {
      throw orInvalidJson(WHAT, error);
    }
    yield part;
  }
}

class EnvelopeReader {
  readonly #head = Buffer.alloc(HEAD);
  #have = 0;
  #left = 0;
  #structure = new JsonStructure(STRUCTURE);

  take(part: Buffer): void {
    for (let at = 0; at < part.length; )
      at = this.#left === 0 ? this.#begin(part, at) : this.#inside(part, at);
  }

  #begin(part: Buffer, at: number): number {
    const taken = part.copy(this.#head, this.#have, at);
    this.#have += taken;
    if (this.#have === HEAD) {
      [this.#have, this.#left] = [0, this.#head.readUInt32BE(1)];
      this.#structure = new JsonStructure(STRUCTURE);
      if (this.#left > MAX_EVENT) throw invalidReply(WHAT, 'sent an event that is too large');
    }
    return at + taken;
  }

  #inside(part: Buffer, at: number): number {
    const piece = part.subarray(at, at + this.#left);
    this.#structure.take(piece);
    this.#left -= piece.length;
    return at + piece.length;
  }
}
