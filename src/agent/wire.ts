// Writer and reader of the values inside a payload. Everything that is read was written by a hostile sandbox: each
// read is checked against what is there, and numbers are clamped to what JavaScript holds exactly.
import { AgentFault, ShortRead } from './fault.ts';

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** Appends values, little endian, to one growing buffer. */
export class WireWriter {
  #buffer = Buffer.allocUnsafe(256);
  #end = 0;

  u8(value: number): this {
    this.#end = this.#room(1).writeUInt8(value, this.#end);
    return this;
  }

  u16(value: number): this {
    this.#end = this.#room(2).writeUInt16LE(value, this.#end);
    return this;
  }

  u32(value: number): this {
    this.#end = this.#room(4).writeUInt32LE(value, this.#end);
    return this;
  }

  u64(value: bigint): this {
    this.#end = this.#room(8).writeBigUInt64LE(value, this.#end);
    return this;
  }

  /** `u32` length in bytes and the bytes; a string is written as UTF-8. */
  str(value: string | Buffer): this {
    const length = Buffer.byteLength(value);
    this.u32(length).#room(length);
    if (typeof value === 'string') this.#buffer.write(value, this.#end);
    else value.copy(this.#buffer, this.#end);
    this.#end += length;
    return this;
  }

  /** The bytes as they are, without a length. */
  raw(bytes: Buffer): this {
    bytes.copy(this.#room(bytes.length), this.#end);
    this.#end += bytes.length;
    return this;
  }

  /** What was written. A view: write nothing more after it. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end);
  }

  get length(): number {
    return this.#end;
  }

  #room(count: number): Buffer {
    if (this.#end + count > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#end + count));
      this.#buffer.copy(grown, 0, 0, this.#end);
      this.#buffer = grown;
    }
    return this.#buffer;
  }
}

/** Takes values from the front of `bytes`. Throws ShortRead when they end too early. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Where the next read begins. */
  get position(): number {
    return this.#at;
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#advance(2));
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4));
  }

  i32(): number {
    return this.#bytes.readInt32LE(this.#advance(4));
  }

  /** Values over 2^53-1 read as 2^53-1. */
  u64(): number {
    const value = this.#bytes.readBigUInt64LE(this.#advance(8));
    return Number(value > SAFE ? SAFE : value);
  }

  /** Values outside ±(2^53-1) read as the nearest of these. */
  i64(): number {
    const value = this.#bytes.readBigInt64LE(this.#advance(8));
    if (value > SAFE) return Number.MAX_SAFE_INTEGER;
    return value < -SAFE ? -Number.MAX_SAFE_INTEGER : Number(value);
  }

  /** Text; bytes that are not UTF-8 become U+FFFD, so that a strange name can still be shown. */
  str(): string {
    const length = this.u32();
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  raw(count: number): Buffer {
    const start = this.#advance(count);
    return this.#bytes.subarray(start, start + count);
  }

  /** Throws unless everything was read. */
  end(): void {
    if (this.#at !== this.#bytes.length)
      throw new AgentFault(`${this.#bytes.length - this.#at} bytes too many`);
  }

  #advance(count: number): number {
    const start = this.#at;
    if (start + count > this.#bytes.length)
      throw new ShortRead(`${count} bytes wanted, ${this.#bytes.length - start} left`);
    this.#at = start + count;
    return start;
  }
}
