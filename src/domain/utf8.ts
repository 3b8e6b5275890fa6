// Text that stays bytes: output of programs becomes valid UTF-8, cut between characters, without ever being a string. At
// hundreds of megabytes a second making strings is what costs.
import { isUtf8 } from 'node:buffer';

const NOTHING = Buffer.alloc(0);

/** Decodes piece by piece with the same result as decoding all bytes at once. */
export class Utf8Pieces {
  #waiting = NOTHING;

  /**
   * Returns valid UTF-8 of complete characters, invalid bytes replaced; may be empty. A view of `data` if that is
   * already valid.
   */
  write(data: Buffer): Buffer {
    const all = this.#waiting.length === 0 ? data : Buffer.concat([this.#waiting, data]);
    const end = all.length - cutLength(all);
    this.#waiting = end === all.length ? NOTHING : Buffer.from(all.subarray(end));
    return valid(all.subarray(0, end));
  }

  /** Returns the incomplete rest, replaced. */
  end(): Buffer {
    return valid(this.#waiting);
  }
}

/** Checks whether bytes that come in pieces are UTF-8. */
export class Utf8Check {
  #waiting = NOTHING;

  /** False once `data` cannot be part of valid UTF-8. */
  take(data: Buffer): boolean {
    const all = this.#waiting.length === 0 ? data : Buffer.concat([this.#waiting, data]);
    const end = all.length - cutLength(all);
    this.#waiting = end === all.length ? NOTHING : Buffer.from(all.subarray(end));
    return isUtf8(all.subarray(0, end));
  }

  /** False if a character is incomplete. */
  end(): boolean {
    return this.#waiting.length === 0;
  }
}

function valid(bytes: Buffer): Buffer {
  return isUtf8(bytes) ? bytes : Buffer.from(bytes.toString());
}

/** The number of bytes at the end that begin an incomplete character: at most 3. */
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
