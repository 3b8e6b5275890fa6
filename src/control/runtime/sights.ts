// How long rows of the store have stood still, by this process's own monotonic clock: only the time between two reads that
// succeeded counts, and of that at most 2 s. So an outage of the store, and a time in which this process was frozen, count for
// nobody.

/** What one read may add to a silence. */
const LONGEST_STEP_MS = 2000;

interface Sight {
  /** The content of the row; undefined: there was none. */
  mark: string | number | undefined;
  silentMs: number;
}

export class Sights {
  readonly #sights = new Map<string, Sight>();
  #readAt: number | undefined;

  /** `now` is monotonic. Rows that were never seen, and rows that changed, begin a silence. */
  read(now: number, marks: ReadonlyMap<string, string | number>): void {
    const step = Math.min(now - (this.#readAt ?? now), LONGEST_STEP_MS);
    this.#readAt = now;
    for (const id of marks.keys()) this.silentMs(id);
    for (const [id, sight] of this.#sights) {
      const mark = marks.get(id);
      const isNews = mark !== undefined && mark !== sight.mark;
      this.#sights.set(id, { mark, silentMs: isNews ? 0 : sight.silentMs + step });
    }
  }

  /** The time until `now` counts for nobody. */
  failed(now: number): void {
    this.#readAt = now;
  }

  /** A row that was never seen counts as silent from now on. */
  silentMs(id: string): number {
    const sight = this.#sights.get(id) ?? { mark: undefined, silentMs: 0 };
    this.#sights.set(id, sight);
    return sight.silentMs;
  }

  /** Ids that have been silent for at least `ms`. */
  silentFor(ms: number): string[] {
    return [...this.#sights].filter(([, { silentMs }]) => silentMs >= ms).map(([id]) => id);
  }

  forget(id: string): void {
    this.#sights.delete(id);
  }
}
