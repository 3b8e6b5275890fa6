// The spawns of this process whose provider is working. A destroy cancels them here and waits; reconciliation leaves
// their rows alone. A `creating` row that is not here belongs to another replica (replicas.ts), or to nobody.
import { ServiceError } from '../../domain/errors.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';

const RETRY_MS = 1000;

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

  /** Registers a spawn until `end()`; `signal` aborts when the sandbox is destroyed meanwhile. */
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

  /** Resolves when the provider no longer works on `id`, at most a second later. */
  async cancel(id: string): Promise<void> {
    const flight = this.#flights.get(id);
    flight?.abort.abort(destroyedMeanwhile());
    await flight?.over;
  }

  /** Resolves when all current spawns have settled. */
  async settled(): Promise<void> {
    await Promise.all([...this.#flights.values()].map(({ over }) => over));
  }
}

export function destroyedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The sandbox was destroyed while it was being created.');
}

/** Ends by somebody, rather than because the start failed or its replica was silent. */
const ENDS: readonly (string | undefined)[] = ['destroyed', 'expired', 'pruned'];

/** Whether somebody wanted the sandbox to end. A record that is not there was removed after its end. */
export function isEndByWish(row: SandboxRecord | undefined): boolean {
  return row === undefined || ENDS.includes(row.end_reason);
}

/**
 * The error for a client whose spawn was ended by others: `conflict` where somebody wanted that, `unavailable` where another
 * server took this one for dead, or where the store does not say. A repeated call then makes another sandbox.
 */
export async function endOfSpawn(sandboxes: Pick<SandboxStore, 'get'>, id: string): Promise<ServiceError> {
  const isByWish = await sandboxes.get(id).then(isEndByWish, () => false);
  if (isByWish) return destroyedMeanwhile();
  return new ServiceError('unavailable', 'This server was too slow; another one ended the spawn.', {
    remedy: 'Repeat the request.',
    retryAfterMs: RETRY_MS,
  });
}
