// The output of a command, from the library's callbacks to one reader. A callback waits until its piece was read, so an
// unread command blocks. The library keeps all output in memory, hence the limit.
import type { OutputChunk } from '../../agent/io.ts';

interface Piece {
  chunk: OutputChunk;
  taken(): void;
}

export class HostedOutput {
  readonly #waiting: Piece[] = [];
  readonly #mostBytes: number;
  #bytes = 0;
  #isEnded = false;
  #wake: () => void = () => undefined;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Resolves once the piece was read; with false when the output exceeds the limit. */
  async add(channel: OutputChunk['channel'], text: string | Uint8Array): Promise<boolean> {
    const data = Buffer.from(text as string);
    this.#bytes += data.length;
    if (this.#bytes > this.#mostBytes) return false;
    if (this.#isEnded) return true;
    await new Promise<void>((taken) => {
      this.#waiting.push({ chunk: { channel, data }, taken });
      this.#wake();
    });
    return true;
  }

  /** Ends the output; pending pieces are still read. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *read(): AsyncGenerator<OutputChunk> {
    try {
      for (;;) {
        const piece = this.#waiting.shift();
        if (piece) {
          yield piece.chunk;
          piece.taken();
        } else if (this.#isEnded) return;
        else
          await new Promise<void>((wake) => {
            this.#wake = wake;
          });
      }
    } finally {
      this.#isEnded = true;
      for (const { taken } of this.#waiting.splice(0)) taken();
    }
  }
}
