// The spawns of this process whose provider is at work. A destroy cancels here and waits; reconcile leaves these rows
// alone: every other `creating` row belongs to nobody any more.
import { ServiceError } from '../../domain/errors.ts';

interface Flight {
  abort: AbortController;
  over: Promise<void>;
}

export interface InFlightSpawn {
  signal: AbortSignal;
  end(): void;
}

export class InFlightSpawns {
  readonly #flights = new Map<string, Flight>();

  has(id: string): boolean {
    return this.#flights.has(id);
  }

  /** `id` is a spawn of this process until `end()`; `signal` aborts when the sandbox is destroyed meanwhile. */
  begin(id: string): InFlightSpawn {
    const abort = new AbortController();
    let settle = () => {};
    const over = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#flights.set(id, { abort, over });
    const end = () => {
      this.#flights.delete(id);
      settle();
    };
    return { signal: abort.signal, end };
  }

  /** Resolves when the provider no longer works on `id`, at most a second after this. */
  async cancel(id: string): Promise<void> {
    const flight = this.#flights.get(id);
    flight?.abort.abort(destroyedMeanwhile());
    await flight?.over;
  }

  /** Resolves when all there are now have settled. */
  async settled(): Promise<void> {
    await Promise.all([...this.#flights.values()].map(({ over }) => over));
  }
}

export function destroyedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The sandbox was destroyed while it was being created.');
}
