// Output of programs on its way into JSON: as text with invalid bytes replaced, or as base64. A sequence of bytes that
// belongs together may be cut anywhere by the pieces it comes in.
import { StringDecoder } from 'node:string_decoder';

export type OutputEncoding = 'utf8' | 'base64';

export interface OutputDecoder {
  /** What can be said of the bytes so far; an incomplete UTF-8 sequence waits for the next piece. */
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

/** Keeps the first `cap` bytes and drops the rest: a program may write without end. */
export class CappedOutput {
  readonly #cap: number;
  readonly #kept: Buffer[] = [];
  #size = 0;
  #truncated = false;

  constructor(cap: number) {
    this.#cap = cap;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  add(data: Buffer): void {
    const room = this.#cap - this.#size;
    if (data.length > room) this.#truncated = true;
    if (room <= 0 || data.length === 0) return;
    const kept = data.length > room ? data.subarray(0, room) : data;
    this.#kept.push(kept);
    this.#size += kept.length;
  }

  /** A character that the cap cut in two is left out in `utf8`; one that the program itself left incomplete is replaced. */
  text(encoding: OutputEncoding): string {
    const bytes = Buffer.concat(this.#kept, this.#size);
    if (encoding === 'base64') return bytes.toString('base64');
    return this.#truncated ? outputDecoder('utf8').write(bytes) : bytes.toString();
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
