// Runtimes that were found missing once. One such finding may be a slip of whoever looked (an engine that restarts, a host
// out of descriptors): a sandbox ends only when a second one, a second later or more, says the same.
import type { Clock } from '../../domain/ports.ts';

export const AGAIN_MS = 1000;

interface Found {
  epoch: number;
  /** Monotonic. */
  since: number;
}

export class MissingRuntimes {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #found = new Map<string, Found>();

  constructor({ clock }: { clock: Pick<Clock, 'monotonic'> }) {
    this.#clock = clock;
  }

  /** The runtime was found missing. True when it was so at least 1 s ago, too: it is lost, and forgotten here. */
  confirms({ id, epoch }: { id: string; epoch: number }): boolean {
    const now = this.#clock.monotonic();
    const first = this.#found.get(id);
    if (first?.epoch !== epoch) {
      this.#found.set(id, { epoch, since: now });
      return false;
    }
    if (now - first.since < AGAIN_MS) return false;
    return this.#found.delete(id);
  }

  /** It is there, or nobody asks any more. */
  forget(id: string): void {
    this.#found.delete(id);
  }
}
