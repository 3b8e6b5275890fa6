// Reads a JSON array element by element as it arrives. Each element is small enough to parse at once, and the caller
// keeps what it needs, so a list of any length costs the memory of one element.
import { ByteBlocks } from './byte-blocks.ts';
import {
  CLOSE_LIST,
  COMMA,
  JsonFault,
  JsonStructure,
  OPEN_LIST,
  type StructureLimits,
} from './json-structure.ts';

const NOT_BLANK = /[^ \t\r\n]/;

export interface ListLimits extends StructureLimits {
  /** Elements. */
  most: number;
  /** The maximum size of one element. Limits on depth and tokens also apply to one element. */
  bytes: number;
}

/** Takes the bytes of one document in pieces of any size. */
export class JsonList {
  readonly #read: (element: unknown) => void;
  readonly #limits: ListLimits;
  readonly #structure: JsonStructure;
  #state: 'before' | 'inside' | 'after' = 'before';
  #count = 0;
  /** The parts of an element that came in several pieces. */
  #waiting = new ByteBlocks();
  #size = 0;

  /** `read` gets each element in order; what it throws ends the list. */
  constructor(read: (element: unknown) => void, limits: ListLimits) {
    this.#read = read;
    this.#limits = limits;
    this.#structure = new JsonStructure({ ...limits, depth: limits.depth + 1 });
  }

  /** Throws a JsonFault: `kind` for anything but a list, `size` and `structure` for exceeded limits, `syntax`. */
  take(bytes: Buffer): void {
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const from = at;
      at = this.#structure.next(bytes, from);
      const byte = bytes[at];
      const isOutside = this.#state !== 'inside';
      if (isOutside) this.#outside(bytes.subarray(from, at), byte);
      else if (byte !== undefined && this.#isBoundary(byte)) this.#element(bytes.subarray(start, at), byte);
      else continue;
      start = at + 1;
    }
    if (start < bytes.length) this.#wait(bytes.subarray(start));
  }

  /** After the last byte. Throws a JsonFault (`syntax`) when the list has not ended. */
  end(): void {
    if (this.#state !== 'after') throw new JsonFault('syntax');
  }

  #isBoundary(byte: number): boolean {
    const { depth } = this.#structure;
    return depth === 0 || (depth === 1 && byte === COMMA);
  }

  #outside(text: Buffer, byte: number | undefined): void {
    const isMore = NOT_BLANK.test(text.toString('latin1')) || byte !== undefined;
    if (this.#state === 'after' && isMore) throw new JsonFault('syntax');
    if (!isMore) return;
    if (NOT_BLANK.test(text.toString('latin1')) || byte !== OPEN_LIST) throw new JsonFault('kind');
    this.#state = 'inside';
  }

  #element(text: Buffer, boundary: number): void {
    const element = this.#complete(text).toString('utf8');
    this.#structure.tokens = 0;
    if (boundary !== COMMA) this.#state = 'after';
    if (boundary !== COMMA && boundary !== CLOSE_LIST) throw new JsonFault('syntax');
    if (boundary === CLOSE_LIST && this.#count === 0 && !NOT_BLANK.test(element)) return;
    if (++this.#count > this.#limits.most) throw new JsonFault('size');
    this.#read(parsed(element));
  }

  #complete(last: Buffer): Buffer {
    const isComplete = this.#size === 0;
    this.#wait(last, isComplete);
    const blocks = this.#waiting;
    [this.#waiting, this.#size] = [isComplete ? blocks : new ByteBlocks(), 0];
    return isComplete ? last : Buffer.concat(blocks.taken());
  }

  #wait(part: Buffer, isComplete = false): void {
    this.#size += part.length;
    if (this.#size > this.#limits.bytes) throw new JsonFault('size');
    if (!isComplete) this.#waiting.append(part);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new JsonFault('syntax');
  }
}
