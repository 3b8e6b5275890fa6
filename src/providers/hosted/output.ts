// What a command writes, from the library's callbacks to one reader. A callback waits until its piece was taken, so that a
// command that nobody reads stops; the library keeps all text itself, so that there is a most.
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

  /** Resolves once it was read. False: it is more than may come. */
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

  /** What waits is still read. */
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
