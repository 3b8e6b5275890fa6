// A queue of background work by key, in lanes. Each lane runs a limited number at once, so that a lane whose other
// side hangs does not delay the others. Work with the same key runs once at a time.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';

interface Lane {
  limit: ConcurrencyLimit;
  /** Work that waits or runs, by key. */
  works: Map<string, Promise<unknown>>;
}

export class KeyedQueue {
  readonly #atOnce: (lane: string) => number;
  readonly #lanes = new Map<string, Lane>();
  #stopped = false;

  constructor(atOnce: (lane: string) => number) {
    this.#atOnce = atOnce;
  }

  /** Runs `work`, unless `key` already waits or runs in its lane. A rejection is dropped. */
  run(name: string, key: string, work: () => Promise<unknown>): void {
    const lane = this.#lanes.get(name) ?? {
      limit: new ConcurrencyLimit(this.#atOnce(name)),
      works: new Map(),
    };
    if (lane.works.has(key)) return;
    this.#lanes.set(name, lane);
    const done = lane.limit
      .run(async () => this.#stopped || work())
      .catch(() => undefined)
      .finally(() => {
        lane.works.delete(key);
        if (lane.works.size === 0) this.#lanes.delete(name);
      });
    lane.works.set(key, done);
  }

  /** Drops waiting and later work; resolves when running work has settled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all([...this.#lanes.values()].flatMap(({ works }) => [...works.values()]));
  }
}
