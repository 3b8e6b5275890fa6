// A queue of background work by key, in lanes. Each lane runs a limited number at once, so that a lane whose other
// side hangs does not delay the others. Work with the same key runs once at a time.

interface Lane {
  waiting: Map<string, () => Promise<unknown>>;
  running: Map<string, Promise<unknown>>;
}

export class KeyedQueue {
  readonly #atOnce: (lane: string) => number;
  readonly #lanes = new Map<string, Lane>();

  constructor(atOnce: (lane: string) => number) {
    this.#atOnce = atOnce;
  }

  /** Runs `work`, unless `key` already waits or runs in its lane. A rejection is dropped. */
  run(name: string, key: string, work: () => Promise<unknown>): void {
    const lane = this.#lanes.get(name) ?? { waiting: new Map(), running: new Map() };
    if (lane.waiting.has(key) || lane.running.has(key)) return;
    this.#lanes.set(name, lane);
    lane.waiting.set(key, work);
    this.#next(name, lane);
  }

  /** Drops waiting work; resolves when running work has settled. */
  async stop(): Promise<void> {
    for (const { waiting } of this.#lanes.values()) waiting.clear();
    await Promise.all([...this.#lanes.values()].flatMap(({ running }) => [...running.values()]));
  }

  #next(name: string, lane: Lane): void {
    for (const [key, work] of lane.waiting) {
      if (lane.running.size >= this.#atOnce(name)) return;
      lane.waiting.delete(key);
      const done = work()
        .catch(() => undefined)
        .finally(() => {
          lane.running.delete(key);
          this.#next(name, lane);
        });
      lane.running.set(key, done);
    }
    if (lane.running.size === 0) this.#lanes.delete(name);
  }
}
