// Text that stays bytes: output of programs becomes valid UTF-8, cut between characters, without ever being a string. At
// hundreds of megabytes a second making strings is what costs.
import { isUtf8 } from 'node:buffer';

const NOTHING = Buffer.alloc(0);

/** Says the same as decoding all the bytes at once would, piece by piece. */
export class Utf8Pieces {
  #waiting = NOTHING;

  /** Valid UTF-8 of whole characters, invalid bytes replaced; maybe empty. A view of `data` where that is so already. */
  write(data: Buffer): Buffer {
    const all = this.#waiting.length === 0 ? data : Buffer.concat([this.#waiting, data]);
    const end = all.length - cutLength(all);
    this.#waiting = end === all.length ? NOTHING : Buffer.from(all.subarray(end));
    return valid(all.subarray(0, end));
  }

  /** What waited for its rest, replaced. */
  end(): Buffer {
    return valid(this.#waiting);
  }
}

/** Whether bytes that come in pieces are UTF-8. */
export class Utf8Check {
  #waiting = NOTHING;

  /** False once `data` cannot be part of any. */
  take(data: Buffer): boolean {
    const all = this.#waiting.length === 0 ? data : Buffer.concat([this.#waiting, data]);
    const end = all.length - cutLength(all);
    this.#waiting = end === all.length ? NOTHING : Buffer.from(all.subarray(end));
    return isUtf8(all.subarray(0, end));
  }

  /** False when a character is cut off. */
  end(): boolean {
    return this.#waiting.length === 0;
  }
}

function valid(bytes: Buffer): Buffer {
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString());
}

/** How many bytes at the end begin a character whose rest is missing: at most 3. */
function cutLength(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] as number;
    if (byte >= 0xc0) return back < lengthFrom(byte) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function lengthFrom(first: number): number {
  if (first >= 0xf0) return 4;
  return first >= 0xe0 ? 3 : 2;
}
