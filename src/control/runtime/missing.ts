// Runtimes that were missing once. One such result may be an error (an engine that restarts, a host without
// descriptors), so a sandbox ends only when a second check, at least a second later, agrees.
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

  /** Records that the runtime is missing. True when it was at least 1 s ago too: it is lost, and forgotten here. */
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

  /** The runtime exists, or nobody asks for it any more. */
  forget(id: string): void {
    this.#found.delete(id);
  }
}
