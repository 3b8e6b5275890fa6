// Finds the agent's WELCOME in a stream of leftovers. Only a whole frame with our nonce and our tag is one; the nonce
// is new in every opening, so nothing that was sent before can hold it.
import { NONCE_BYTES, TYPE } from './protocol.ts';
import { WireReader } from './wire.ts';

export interface Welcome {
  version: number;
  /** The agent's build, at most 200 characters; told by the sandbox, for the log. */
  build: string;
  /** Changes with every start of the agent. */
  boot: bigint;
  /** What came directly after it: the session's first bytes. */
  rest: Buffer;
}

const DISCARD_MAX = 1024 * 1024;
const WELCOME_MAX = 1024;
/** Length, type and stream come before the nonce. */
const BEFORE_NONCE = 9;

export class WelcomeSearch {
  readonly #nonce: Buffer;
  readonly #tag: number;
  #kept: Buffer = Buffer.alloc(0);
  #seen = 0;

  constructor(nonce: Buffer, tag: number) {
    this.#nonce = nonce;
    this.#tag = tag;
  }

  /** More than 1 MiB came and no answer in it. */
  get isExhausted(): boolean {
    return this.#seen > DISCARD_MAX;
  }

  push(chunk: Buffer): Welcome | undefined {
    this.#seen += chunk.length;
    const bytes = this.#kept.length > 0 ? Buffer.concat([this.#kept, chunk]) : chunk;
    let keepFrom = Math.max(0, bytes.length - BEFORE_NONCE - NONCE_BYTES);
    for (let at = bytes.indexOf(this.#nonce); at >= 0; at = bytes.indexOf(this.#nonce, at + 1)) {
      if (at < BEFORE_NONCE) continue;
      const found = this.#read(bytes, at - BEFORE_NONCE);
      if (found === 'cut') {
        keepFrom = at - BEFORE_NONCE;
        break;
      }
      if (found) return found;
    }
    this.#kept = Buffer.from(bytes.subarray(keepFrom));
    return undefined;
  }

  #read(bytes: Buffer, start: number): Welcome | 'cut' | undefined {
    const length = bytes.readUInt32LE(start);
    if (bytes[start + 4] !== TYPE.WELCOME || length > WELCOME_MAX || length < BEFORE_NONCE + NONCE_BYTES)
      return undefined;
    const end = start + 4 + length;
    if (end > bytes.length) return 'cut';
    if (bytes.readUInt32LE(end - 4) !== this.#tag) return undefined;
    return decode(bytes.subarray(start + BEFORE_NONCE + NONCE_BYTES, end - 4), bytes.subarray(end));
  }
}

function decode(payload: Buffer, rest: Buffer): Welcome | undefined {
  try {
    const reader = new WireReader(payload);
    const version = reader.u8();
    return { version, build: reader.str().slice(0, 200), boot: reader.raw(8).readBigUInt64LE(), rest };
  } catch {
    return undefined;
  }
}
