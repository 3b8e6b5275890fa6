// Decodes a JSON string to its UTF-8 bytes without building a string: takes the bytes after the opening quote in pieces
// of any size. The reader of the document checks that they are UTF-8 (utf8.ts).
import { ByteBlocks } from './byte-blocks.ts';
import { BACKSLASH, JsonFault, QUOTE } from './json-structure.ts';

const SPACE = 0x20;
const LOWER_U = 0x75;
const NONE = 0xff;
/** A regular expression finds what is far away much faster than a loop, and what is near more slowly. */
const SPECIAL = /[^ !#-[\]-\u00ff]/;
/** Characters of a \uXXXX escape; a complete one is read at once. */
const UNIT_LENGTH = 6;
const NEAR = 64;
const FAR = 16 * 1024;
/** What the byte after a backslash means; digits of hexadecimal numbers. */
const ESCAPES = table({ '"': 0x22, '\\': 0x5c, '/': 0x2f, b: 8, f: 12, n: 10, r: 13, t: 9 });
const HEX = table(
  Object.fromEntries(
    [...'0123456789abcdef', ...'ABCDEF'].map((digit) => [digit, Number.parseInt(digit, 16)]),
  ),
);

type State = 'plain' | 'escape' | 'hex';

export class JsonText {
  readonly #blocks = new ByteBlocks();
  #state: State = 'plain';
  /** The value of a \u escape so far, and the number of its digits. */
  #unit = 0;
  #digits = 0;
  /** The first half of a surrogate pair, which has to be followed by the second; 0 for none. */
  #high = 0;

  /**
   * Takes bytes from index `from` on; the index of the closing quote, or the length of `bytes` when that has not come. Throws a
   * JsonFault: `syntax`, or `surrogate` for half a pair.
   */
  take(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length) {
      if (this.#state === 'plain') at = this.#plain(bytes, at);
      else if (this.#state === 'hex') this.#hex(bytes[at++] as number);
      else this.#escaped(bytes[at++] as number);
      if (at < bytes.length && this.#state === 'plain' && bytes[at] === QUOTE) {
        this.#requireNoHalf();
        return at;
      }
    }
    return at;
  }

  /** The complete text, once its closing quote was found. */
  taken(): Buffer[] {
    return this.#blocks.taken();
  }

  /** Up to a quote, or past the backslash that begins an escape. */
  #plain(bytes: Buffer, from: number): number {
    const at = endOfPlain(bytes, from);
    if (at < bytes.length && (bytes[at] as number) < SPACE) throw new JsonFault('syntax');
    if (at > from) {
      this.#requireNoHalf();
      this.#blocks.append(bytes.subarray(from, at));
    }
    if (at === bytes.length || bytes[at] !== BACKSLASH) return at;
    if (at + UNIT_LENGTH <= bytes.length && bytes[at + 1] === LOWER_U) {
      this.#take(unitAt(bytes, at + 2));
      return at + UNIT_LENGTH;
    }
    this.#state = 'escape';
    return at + 1;
  }

  #escaped(byte: number): void {
    if (byte === LOWER_U) {
      this.#state = 'hex';
      this.#unit = 0;
      this.#digits = 0;
      return;
    }
    const meant = ESCAPES[byte] as number;
    if (meant === NONE) throw new JsonFault('syntax');
    this.#requireNoHalf();
    this.#blocks.push(meant);
    this.#state = 'plain';
  }

  #hex(byte: number): void {
    const digit = HEX[byte] as number;
    if (digit === NONE) throw new JsonFault('syntax');
    this.#unit = this.#unit * 16 + digit;
    this.#digits++;
    if (this.#digits < 4) return;
    this.#state = 'plain';
    this.#take(this.#unit);
  }

  #take(unit: number): void {
    const isLow = unit >= 0xdc00 && unit <= 0xdfff;
    if (isLow !== this.#high > 0) throw new JsonFault('surrogate');
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.#high = unit;
      return;
    }
    this.#encode(isLow ? 0x10000 + (this.#high - 0xd800) * 0x400 + (unit - 0xdc00) : unit);
    this.#high = 0;
  }

  /** As UTF-8. */
  #encode(point: number): void {
    const blocks = this.#blocks;
    const rest = (bits: number) => blocks.push(0x80 | ((point >> bits) & 0x3f));
    if (point < 0x80) blocks.push(point);
    else if (point < 0x800) blocks.push(0xc0 | (point >> 6));
    else if (point < 0x10000) blocks.push(0xe0 | (point >> 12));
    else blocks.push(0xf0 | (point >> 18));
    if (point >= 0x10000) rest(12);
    if (point >= 0x800) rest(6);
    if (point >= 0x80) rest(0);
  }

  #requireNoHalf(): void {
    if (this.#high > 0) throw new JsonFault('surrogate');
  }
}

/** Index of the next quote, backslash or control character; the length of `bytes` when there is none. */
function endOfPlain(bytes: Buffer, from: number): number {
  const near = Math.min(from + NEAR, bytes.length);
  for (let at = from; at < near; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) return at;
  }
  if (near === bytes.length) return near;
  const far = Math.min(near + FAR, bytes.length);
  const found = bytes.toString('latin1', near, far).search(SPECIAL);
  if (found >= 0) return near + found;
  return far === bytes.length ? far : endOfPlain(bytes, far);
}

function unitAt(bytes: Buffer, at: number): number {
  let unit = 0;
  for (let place = at; place < at + 4; place++) {
    const digit = HEX[bytes[place] as number] as number;
    if (digit === NONE) throw new JsonFault('syntax');
    unit = unit * 16 + digit;
  }
  return unit;
}

function table(values: Record<string, number>): Uint8Array {
  const made = new Uint8Array(256).fill(NONE);
  for (const [letter, value] of Object.entries(values)) made[letter.charCodeAt(0)] = value;
  return made;
}
