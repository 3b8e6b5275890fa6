// What a stream has received and nobody has taken yet. Credit bounds the payload bytes; this bounds what holding them
// costs: a flood of one-byte pieces is packed into blocks, and a small piece never pins a large read buffer.

export interface Piece {
  channel: number;
  data: Buffer;
}

const BLOCK = 16 * 1024;
const RECORD_HEAD = 3;

/** A queue in arrival order. Neighbours of one channel may come out joined. */
export class Inbox {
  #queue: (Piece | Block)[] = [];
  #first = 0;

  push(channel: number, data: Buffer): void {
    if (isWorthKeeping(data)) this.#queue.push({ channel, data });
    else
      for (let at = 0; at < data.length; at += BLOCK / 2)
        this.#pack(channel, data.subarray(at, at + BLOCK / 2));
  }

  take(): Piece | undefined {
    const head = this.#queue[this.#first];
    if (!head) return undefined;
    const piece = head instanceof Block ? head.take() : head;
    if (!(head instanceof Block) || head.isEmpty) this.#drop();
    return piece;
  }

  get isEmpty(): boolean {
    return this.#first === this.#queue.length;
  }

  clear(): void {
    this.#queue = [];
    this.#first = 0;
  }

  #pack(channel: number, data: Buffer): void {
    const last = this.#queue.at(-1);
    if (last instanceof Block && this.#first < this.#queue.length && last.append(channel, data)) return;
    const block = new Block(data.length);
    block.append(channel, data);
    this.#queue.push(block);
  }

  #drop(): void {
    this.#first += 1;
    if (this.#first < 64 && !this.isEmpty) return;
    this.#queue = this.#queue.slice(this.#first);
    this.#first = 0;
  }
}

/** Alone in its memory for the most part. */
function isWorthKeeping(data: Buffer): boolean {
  return data.length >= 1024 && data.length * 2 >= data.buffer.byteLength;
}

/** Small pieces one after another: `u8 channel, u16 length, bytes`. */
class Block {
  readonly #bytes: Buffer;
  #read = 0;
  #lastRecord = -1;
  #end = 0;

  /** The first block is small: a short answer should not cost a full block. */
  constructor(firstLength: number) {
    this.#bytes = Buffer.allocUnsafeSlow(firstLength < 512 ? 1024 : BLOCK);
  }

  get isEmpty(): boolean {
    return this.#read === this.#end;
  }

  /** false: no room. */
  append(channel: number, data: Buffer): boolean {
    const joins = this.#lastRecord >= this.#read && this.#bytes[this.#lastRecord] === channel;
    const head = joins ? 0 : RECORD_HEAD;
    if (this.#end + head + data.length > this.#bytes.length) return false;
    if (!joins) this.#openRecord(channel);
    const length = this.#bytes.readUInt16LE(this.#lastRecord + 1) + data.length;
    this.#bytes.writeUInt16LE(length, this.#lastRecord + 1);
    this.#end += data.copy(this.#bytes, this.#end);
    return true;
  }

  take(): Piece {
    const channel = this.#bytes.readUInt8(this.#read);
    const start = this.#read + RECORD_HEAD;
    this.#read = start + this.#bytes.readUInt16LE(this.#read + 1);
    return { channel, data: this.#bytes.subarray(start, this.#read) };
  }

  #openRecord(channel: number): void {
    this.#lastRecord = this.#end;
    this.#bytes.writeUInt8(channel, this.#end);
    this.#bytes.writeUInt16LE(0, this.#end + 1);
    this.#end += RECORD_HEAD;
  }
}
