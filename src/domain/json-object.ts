// One JSON object whose long texts become bytes while it arrives: what is left of it, the shell, has an empty text where each
// of them was, and is small enough to be parsed at once. So megabytes inside JSON are never a string and never a tree.
import {
  COLON,
  COMMA,
  JsonFault,
  JsonStructure,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  type StructureLimits,
} from './json-structure.ts';
import { JsonText } from './json-text.ts';

export interface ObjectLimits extends StructureLimits {
  /** The size limit of the remaining document. */
  bytes: number;
}

const FIRST_BYTES = 1024;
/** As it is written: escapes make a key six times as long. */
const MAX_KEY = 256;
const QUOTE_MARK = Buffer.from('"');

/** Takes the bytes of one document in pieces of any size. Two members of one name: the last one counts, as in JSON.parse. */
export class JsonObject {
  readonly #names: readonly string[];
  readonly #limits: ObjectLimits;
  readonly #structure: JsonStructure;
  readonly #texts = new Map<string, Buffer[]>();
  #shell = Buffer.alloc(0);
  #size = 0;
  /** Brackets that are open, outermost first. */
  readonly #open: number[] = [];
  /** Where the key of a member begins in the shell while it comes; else -1. */
  #keyAt = -1;
  #name: string | undefined;
  /** What comes next in the outermost object. */
  #next: 'key' | 'colon' | 'value' = 'value';
  #lifted: { name: string; text: JsonText } | undefined;
  /** The shell up to `size` and then `ends` is a document by itself. */
  #beginning = { size: 0, ends: '""' };

  /** `names`: of the members whose texts are lifted out. */
  constructor(names: readonly string[], limits: ObjectLimits) {
    this.#names = names;
    this.#limits = limits;
    this.#structure = new JsonStructure(limits);
  }

  /** Throws a JsonFault: `syntax` and `surrogate` in a lifted text, `structure` and `size` for a shell over its limits. */
  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.#lifted ? this.#lift(bytes, at) : this.#walk(bytes, at);
  }

  /** Everything but the lifted texts. It is JSON only if the input was. */
  shell(): Buffer {
    return this.#shell.subarray(0, this.#size);
  }

  /** As much of the shell as makes a document, for saying what is wrong with one that was not read to its end. */
  beginning(): Buffer {
    const { size, ends } = this.#beginning;
    return Buffer.concat([this.#shell.subarray(0, size), Buffer.from(ends)]);
  }

  /** A lifted text as UTF-8, if the bytes that came are. Undefined when the member is missing, or no text. */
  text(name: string): Buffer[] | undefined {
    return this.#texts.get(name);
  }

  #walk(bytes: Buffer, from: number): number {
    const at = this.#structure.next(bytes, from);
    this.#keep(bytes.subarray(from, at + 1));
    if (at === bytes.length) return at;
    const byte = bytes[at] as number;
    if (byte !== QUOTE) this.#part(byte);
    else if (this.#structure.inText) this.#textBegins();
    else this.#textEnds();
    return at + 1;
  }

  #lift(bytes: Buffer, from: number): number {
    const { name, text } = this.#lifted as { name: string; text: JsonText };
    const at = text.take(bytes, from);
    if (at === bytes.length) return at;
    this.#texts.set(name, text.taken());
    this.#lifted = undefined;
    this.#structure.leaveText();
    this.#keep(QUOTE_MARK);
    return at + 1;
  }

  #part(byte: number): void {
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#open.push(byte);
    else if (byte !== COMMA && byte !== COLON) this.#open.pop();
    if (byte !== COLON) this.#remember(byte === COMMA ? this.#size - 1 : this.#size);
    if (this.#open.length !== 1 || this.#open[0] !== OPEN_OBJECT) return;
    if (byte === COLON) this.#next = 'value';
    else if (byte === COMMA || byte === OPEN_OBJECT) this.#next = 'key';
  }

  #textBegins(): void {
    if (this.#open.length !== 1 || this.#open[0] !== OPEN_OBJECT) return;
    if (this.#next === 'key') this.#keyAt = this.#size;
    if (this.#next !== 'value') return;
    this.#remember(this.#size, '"');
    const name = this.#names.find((each) => each === this.#name);
    if (name !== undefined) this.#lifted = { name, text: new JsonText() };
  }

  #textEnds(): void {
    if (this.#keyAt < 0) return;
    this.#name = nameIn(this.#shell.subarray(this.#keyAt - 1, this.#size));
    this.#keyAt = -1;
    this.#next = 'colon';
  }

  #remember(size: number, ends = ''): void {
    const closers = this.#open.map((byte) => (byte === OPEN_LIST ? ']' : '}')).reverse();
    this.#beginning = { size, ends: ends + closers.join('') };
  }

  #keep(bytes: Buffer): void {
    const size = this.#size + bytes.length;
    if (size > this.#limits.bytes) throw new JsonFault('size');
    if (size > this.#shell.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(Math.max(FIRST_BYTES, 2 * size), this.#limits.bytes));
      this.#shell.copy(larger, 0, 0, this.#size);
      this.#shell = larger;
    }
    bytes.copy(this.#shell, this.#size);
    this.#size = size;
  }
}

/** A key with its quotes; undefined when it is none, or longer than any that is looked for. */
function nameIn(quoted: Buffer): string | undefined {
  if (quoted.length > MAX_KEY) return undefined;
  try {
    return JSON.parse(quoted.toString('utf8')) as string;
  } catch {
    return undefined;
  }
}
