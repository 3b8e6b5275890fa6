// The last output of a command, shared by readers that attach and detach. Each reads at its own pace; a slow reader misses
// output that has left the tail, and costs no memory.
import type { OutputChunk } from '../../agent/io.ts';

/** A program may write byte by byte. */
const MOST_CHUNKS = 4096;

export class OutputTail {
  readonly #mostBytes: number;
  readonly #chunks: OutputChunk[] = [];
  /** Index of the first kept chunk among all chunks of the command. */
  #first = 0;
  #bytes = 0;
  #isCut: boolean;
  #isEnded = false;
  readonly #waiting = new Set<() => void>();

  /** `isCut`: earlier output is missing. */
  constructor(mostBytes: number, isCut = false) {
    this.#mostBytes = mostBytes;
    this.#isCut = isCut;
  }

  /** Whether older output is missing. */
  get truncated(): boolean {
    return this.#isCut;
  }

  markTruncated(): void {
    this.#isCut = true;
  }

  add(channel: OutputChunk['channel'], text: string): void {
    this.#keep({ channel, data: Buffer.from(text).subarray(-this.#mostBytes) });
  }

  /** An empty tail with the same limit. */
  emptyCopy(): OutputTail {
    return new OutputTail(this.#mostBytes);
  }

  /** Moves everything kept to `to`. */
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

  /** The kept output, then, if `isFollowed`, new output until the command ends or `until` aborts. */
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
