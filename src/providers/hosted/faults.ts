// Failures of the way to the backend, kept under a number that comes back through the library in its error's message: the
// library has no other place for what we know.
const MOST = 1024;
const MARK = /svc-fault-(\d{1,15})/;

export class Faults {
  readonly #kept = new Map<number, unknown>();
  #last = 0;

  /** What to say to the library. */
  keep(error: unknown): string {
    this.#last++;
    this.#kept.set(this.#last, error);
    this.#kept.delete(this.#last - MOST);
    return `svc-fault-${this.#last}`;
  }

  /** The failure that an error of the library stands for, once. */
  take(error: unknown): unknown {
    const number = Number(MARK.exec(String((error as { message?: unknown } | null)?.message))?.[1]);
    const kept = this.#kept.get(number);
    this.#kept.delete(number);
    return kept;
  }
}
