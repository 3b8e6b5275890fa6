// One at a time for each key, in order of arrival. Guards a decision on something against a change of what it rests on.
// The control plane never holds one while a provider works; a worker does, for its sandboxes one by one.
export class KeyedLock {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` when everything before it on `key` has settled; its outcome is this one's. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = before ? before.then(work, work) : work();
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }

  /** Resolves once every operation that has started by now is finished, whatever its result. */
  async idle(): Promise<void> {
    await Promise.allSettled([...this.#tails.values()]);
  }
}
