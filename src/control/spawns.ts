// The spawns of this process whose provider is at work. A destroy cancels here and waits; reconcile leaves these rows
// alone: every other `creating` row belongs to nobody any more.
import { ServiceError } from '../domain/errors.ts';

interface Flight {
  abort: AbortController;
  over: Promise<void>;
}

export class Spawns {
  readonly #flights = new Map<string, Flight>();

  has(id: string): boolean {
    return this.#flights.has(id);
  }

  /** Runs `work` as the spawn of `id`; its signal aborts when the sandbox is destroyed meanwhile. */
  async run<T>(id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController();
    const running = work(abort.signal);
    const over = running.then(
      () => undefined,
      () => undefined,
    );
    this.#flights.set(id, { abort, over });
    try {
      return await running;
    } finally {
      this.#flights.delete(id);
    }
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
