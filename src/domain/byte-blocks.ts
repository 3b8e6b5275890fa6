// Bytes gathered from pieces of any size into blocks that grow to 64 KiB: many small pieces cost no more memory than one large
// one, and nothing is ever copied twice. Every block but the last is full, and its length a multiple of 4.

const FIRST = 1024;
const LARGEST = 64 * 1024;

export class ByteBlocks {
  readonly #full: Buffer[] = [];
  #block: Buffer = Buffer.alloc(0);
  #used = 0;

  append(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#used === this.#block.length) this.#grow();
      const count = bytes.copy(this.#block, this.#used, at);
      this.#used += count;
      at += count;
    }
  }

  push(byte: number): void {
    if (this.#used === this.#block.length) this.#grow();
    this.#block[this.#used++] = byte;
  }

  /** Returns what was gathered. Must be the last call. */
  taken(): Buffer[] {
    return this.#used === 0 ? this.#full : [...this.#full, this.#block.subarray(0, this.#used)];
  }

  #grow(): void {
    if (this.#used > 0) this.#full.push(this.#block);
    this.#block = Buffer.allocUnsafeSlow(this.#used === 0 ? FIRST : Math.min(2 * this.#used, LARGEST));
    this.#used = 0;
  }
}
