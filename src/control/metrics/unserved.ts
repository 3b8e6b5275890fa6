// Calls that programs for E2B make and this server does not serve, for operators: by method and path, bounded in number.
const MOST = 64;
const OTHERS = 'others';

export class Unserved {
  readonly #counts = new Map<string, number>();

  count(what: string): void {
    const name = this.#counts.has(what) || this.#counts.size < MOST ? what : OTHERS;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
