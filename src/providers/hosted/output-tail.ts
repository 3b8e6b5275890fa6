// The last of what a command wrote, for readers who come and go. Each reads at its own pace from the one tail: who is too slow
// misses what has left it, and costs nothing.
import type { OutputChunk } from '../../agent/io.ts';

/** A program may write byte by byte. */
const MOST_CHUNKS = 4096;

export class OutputTail {
  readonly #mostBytes: number;
  readonly #chunks: OutputChunk[] = [];
  /** The place of the first chunk among all that ever came. */
  #first = 0;
  #bytes = 0;
  #isCut: boolean;
  #isEnded = false;
  readonly #waiting = new Set<() => void>();

  /** `isCut`: something came before. */
  constructor(mostBytes: number, isCut = false) {
    this.#mostBytes = mostBytes;
    this.#isCut = isCut;
  }

  /** What is older is gone. */
  get truncated(): boolean {
    return this.#isCut;
  }

  markTruncated(): void {
    this.#isCut = true;
  }

  add(channel: OutputChunk['channel'], text: string): void {
    this.#keep({ channel, data: Buffer.from(text).subarray(-this.#mostBytes) });
  }

  /** An empty one that keeps as much. */
  emptyCopy(): OutputTail {
    return new OutputTail(this.#mostBytes);
  }

  /** Hands all that is kept to `to`. */
  flushTo(to: OutputTail): void {
    if (this.#isCut) to.markTruncated();
    for (const chunk of this.#chunks) to.#keep(chunk);
    this.#first += this.#chunks.length;
    this.#chunks.length = 0;
    this.#bytes = 0;
  }

  end(): void {
    this.#isEnded = true;
    this.#tell();
  }

  /** What is kept, then what comes, to the end or until `until` aborts; only what is kept where `isFollowed` is false. */
  async *read(isFollowed: boolean, until: AbortSignal): AsyncGenerator<OutputChunk> {
    const stop = () => this.#tell();
    until.addEventListener('abort', stop);
    try {
      for (let at = this.#first; ; at++) {
        at = Math.max(at, this.#first);
        while (isFollowed && this.#isAhead(at) && !until.aborted) await this.#news();
        const chunk = this.#chunks[Math.max(at, this.#first) - this.#first];
        if (!chunk || until.aborted) return;
        yield chunk;
      }
    } finally {
      until.removeEventListener('abort', stop);
    }
  }

  #keep(chunk: OutputChunk): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.data.length;
    while (this.#bytes > this.#mostBytes || this.#chunks.length > MOST_CHUNKS) {
      this.#bytes -= this.#chunks.shift()?.data.length ?? 0;
      this.#first++;
      this.#isCut = true;
    }
    this.#tell();
  }

  #isAhead(at: number): boolean {
    return !this.#isEnded && at >= this.#first + this.#chunks.length;
  }

  #news(): Promise<void> {
    return new Promise((wake) => void this.#waiting.add(wake));
  }

  #tell(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
