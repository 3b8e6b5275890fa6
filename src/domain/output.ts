// Turns program output into JSON: text with invalid bytes replaced, or base64. Byte sequences may be cut anywhere by
// the pieces they arrive in.
import { StringDecoder } from 'node:string_decoder';
import type { Hold } from './byte-ledger.ts';
import { Utf8Pieces } from './utf8.ts';

export type OutputEncoding = 'utf8' | 'base64';

export interface OutputDecoder {
  /** Returns what is complete so far; an incomplete UTF-8 sequence waits for the next piece. */
  write(data: Buffer): string;
  /** What waited, replaced by U+FFFD. */
  end(): string;
}

/** Every text that a base64 decoder gives can be decoded alone. */
export function outputDecoder(encoding: OutputEncoding): OutputDecoder {
  if (encoding === 'base64') return { write: (data) => data.toString('base64'), end: () => '' };
  const decoder = new StringDecoder('utf8');
  return { write: (data) => decoder.write(data), end: () => decoder.end() };
}

/** Our own words in the form that output has. */
export function encodeOutput(text: string, encoding: OutputEncoding): string {
  return encoding === 'base64' ? Buffer.from(text).toString('base64') : text;
}

/** What an output asks before it keeps more: answers how much of `bytes` it may keep. */
type Room = Pick<Hold, 'growUpTo'>;

const ENDLESS: Room = { growUpTo: (bytes) => bytes };
const FIRST_BLOCK = 4 * 1024;
const BLOCK = 64 * 1024;

/**
 * Keeps the first `cap` bytes, or fewer if `room` has no more, and drops the rest, since a program may write without
 * end. Bytes are copied into blocks because a small piece would keep its entire buffer alive.
 */
export class CappedOutput {
  readonly #cap: number;
  readonly #room: Room;
  readonly #blocks: Buffer[] = [];
  #size = 0;
  /** Free bytes of the last block. */
  #left = 0;
  #truncated = false;

  constructor(cap: number, room: Room = ENDLESS) {
    this.#cap = cap;
    this.#room = room;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  add(data: Buffer): void {
    // What comes after a gap is not kept, also where there would be room again.
    for (let from = 0; from < data.length && !this.#truncated; ) {
      if (this.#left === 0) this.#addBlock();
      const block = this.#blocks.at(-1);
      if (this.#left === 0 || !block) this.#truncated = true;
      else from += this.#fill(block, data, from);
    }
  }

  /** What is kept; nothing may be added afterwards. */
  as(encoding: OutputEncoding): OutputText {
    const blocks = this.#blocks.slice();
    const last = blocks.pop();
    if (last) blocks.push(last.subarray(0, last.length - this.#left));
    return new OutputText(blocks, encoding, this.#truncated);
  }

  /** A character that the cap cut in two is left out in `utf8`; one that the program itself left incomplete is replaced. */
  text(encoding: OutputEncoding): string {
    return this.as(encoding).toString();
  }

  #addBlock(): void {
    const wanted = Math.min(this.#cap - this.#size, this.#blocks.length === 0 ? FIRST_BLOCK : BLOCK);
    this.#left = wanted > 0 ? this.#room.growUpTo(wanted) : 0;
    if (this.#left > 0) this.#blocks.push(Buffer.allocUnsafeSlow(this.#left));
  }

  #fill(block: Buffer, data: Buffer, from: number): number {
    const copied = data.copy(block, block.length - this.#left, from);
    this.#left -= copied;
    this.#size += copied;
    return copied;
  }
}

/** A multiple of 3, so that only the last piece of base64 has padding. */
const PIECE = 15 * 1024;

/** Output that stays bytes until it is sent: at tens of megabytes a string would stop everything else. */
export class OutputText {
  readonly #blocks: readonly Buffer[];
  readonly encoding: OutputEncoding;
  readonly #truncated: boolean;

  /** `truncated`: an incomplete character at the end was cut by us. */
  constructor(blocks: readonly Buffer[], encoding: OutputEncoding, truncated: boolean) {
    this.#blocks = blocks;
    this.encoding = encoding;
    this.#truncated = truncated;
  }

  /** Before encoding. */
  get size(): number {
    return this.#blocks.reduce((sum, { length }) => sum + length, 0);
  }

  /** Yields valid UTF-8 of complete characters, or base64, in pieces of at most about 60 KiB. */
  pieces(): Generator<Buffer> {
    return this.encoding === 'utf8' ? this.#utf8() : this.#base64();
  }

  /** All of it at once; for what is small. */
  toString(): string {
    return Buffer.concat([...this.pieces()]).toString();
  }

  toJSON(): string {
    return this.toString();
  }

  *#utf8(): Generator<Buffer> {
    const valid = new Utf8Pieces();
    for (const slice of this.#slices()) yield valid.write(slice);
    if (!this.#truncated) yield valid.end();
  }

  *#base64(): Generator<Buffer> {
    let waiting: Buffer = Buffer.alloc(0);
    for (const slice of this.#slices()) {
      const all = waiting.length === 0 ? slice : Buffer.concat([waiting, slice]);
      const end = all.length - (all.length % 3);
      waiting = all.subarray(end);
      yield Buffer.from(all.toString('base64', 0, end), 'latin1');
    }
    yield Buffer.from(waiting.toString('base64'), 'latin1');
  }

  *#slices(): Generator<Buffer> {
    for (const block of this.#blocks)
      for (let at = 0; at < block.length; at += PIECE) yield block.subarray(at, at + PIECE);
  }
}

/** Keeps the last `cap` bytes: of a long story of failure, the end. */
export class OutputTail {
  readonly #cap: number;
  #kept: Buffer = Buffer.alloc(0);

  constructor(cap: number) {
    this.#cap = cap;
  }

  add(data: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, data.subarray(-this.#cap)]).subarray(-this.#cap);
  }

  /** Invalid bytes, and a character that the cut went through, are replaced. */
  text(): string {
    return this.#kept.toString();
  }
}
