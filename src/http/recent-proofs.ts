// Which keys proved right from which addresses in the last quarter of an hour, as hashes that only this process can make.
// Only right keys are noted, so that no flood of wrong ones makes this grow.
import type { RateLimits } from '../control/api/system.ts';
import { addressScope } from '../domain/address.ts';
import type { Clock } from '../domain/ports.ts';

const LATELY_MS = 15 * 60_000;
const MOST = 10_000;

export class RecentProofs {
  readonly #rates: Pick<RateLimits, 'bucket'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Until when, the soonest first. */
  readonly #until = new Map<string, number>();

  constructor(rates: Pick<RateLimits, 'bucket'>, clock: Pick<Clock, 'monotonic'>) {
    this.#rates = rates;
    this.#clock = clock;
  }

  note(origin: { address: string }, presented: string): void {
    const name = this.#nameOf(origin, presented);
    this.#until.delete(name);
    this.#until.set(name, this.#clock.monotonic() + LATELY_MS);
    for (const [oldest, until] of this.#until) {
      if (this.#until.size <= MOST && until > this.#clock.monotonic()) return;
      this.#until.delete(oldest);
    }
  }

  /** These keys were right once and are not any more. */
  forget(origin: { address: string }, presented: string): void {
    this.#until.delete(this.#nameOf(origin, presented));
  }

  has(origin: { address: string }, presented: string): boolean {
    return (this.#until.get(this.#nameOf(origin, presented)) ?? 0) > this.#clock.monotonic();
  }

  #nameOf({ address }: { address: string }, presented: string): string {
    return this.#rates.bucket(`proved ${addressScope(address)} ${presented}`);
  }
}
