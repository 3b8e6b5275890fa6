// The structure of JSON text, counted on its bytes while they arrive. What JSON.parse costs depends on how much structure a
// text has, not on its size, so that the limit applies before anything is built. Syntax is left to JSON.parse.

export interface StructureLimits {
  /** Arrays and objects inside each other. */
  depth: number;
  /** Brackets, commas and colons outside of texts: each value has about one. */
  tokens: number;
}

/** Why bytes are not read any further as JSON. */
export type JsonReason = 'syntax' | 'structure' | 'size' | 'kind' | 'surrogate';

/** The reason alone: whoever reads for somebody knows how to say it. */
export class JsonFault extends Error {
  readonly reason: JsonReason;

  constructor(reason: JsonReason) {
    super(`JSON rejected: ${reason}`);
    this.name = 'JsonFault';
    this.reason = reason;
  }
}

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/** What a byte outside of texts does. */
const [NOTHING, OPENS, CLOSES, PARTS, QUOTES] = [0, 1, 2, 3, 4];
const MEANING = new Uint8Array(256);
MEANING[OPEN_LIST] = OPENS;
MEANING[OPEN_OBJECT] = OPENS;
MEANING[CLOSE_LIST] = CLOSES;
MEANING[CLOSE_OBJECT] = CLOSES;
MEANING[COMMA] = PARTS;
MEANING[COLON] = PARTS;
MEANING[QUOTE] = QUOTES;

/** Walks over the bytes of one JSON text, which come in pieces of any size. */
export class JsonStructure {
  /** Arrays and objects that are open, the last byte found included. */
  depth = 0;
  tokens = 0;
  /** Between the quotes of a text or a key. */
  inText = false;
  readonly #limits: StructureLimits;
  #isEscaped = false;

  constructor(limits: StructureLimits) {
    this.#limits = limits;
  }

  /** Counts all of `bytes`. Throws a JsonFault when there is more than the limits allow. */
  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at++) at = this.next(bytes, at);
  }

  /**
   * Index of the next bracket, comma, colon or quote of a text at or after `from`, with which everything is counted up to and
   * including it; the length of `bytes` when there is none. Each byte is to be walked over once. Throws as `take`.
   */
  next(bytes: Buffer, from: number): number {
    let at = from;
    if (this.inText) {
      at = this.#endOfText(bytes, at);
      this.inText = at === bytes.length;
      return at;
    }
    while (at < bytes.length && MEANING[bytes[at] as number] === NOTHING) at++;
    if (at < bytes.length) this.#count(MEANING[bytes[at] as number] as number);
    return at;
  }

  /** The text that is open was read by somebody else, up to its closing quote. */
  leaveText(): void {
    this.inText = false;
    this.#isEscaped = false;
  }

  #endOfText(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at++) {
      const byte = bytes[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) return at;
    }
    return bytes.length;
  }

  #count(meaning: number): void {
    if (meaning === QUOTES) {
      this.inText = true;
      return;
    }
    if (meaning === OPENS) this.depth++;
    else if (meaning === CLOSES) this.depth--;
    this.tokens++;
    if (this.tokens > this.#limits.tokens || this.depth > this.#limits.depth)
      throw new JsonFault('structure');
    if (this.depth < 0) throw new JsonFault('syntax');
  }
}
