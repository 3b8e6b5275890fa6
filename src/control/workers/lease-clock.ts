// When leases end, by time that nobody sets: a wall clock that is stepped must neither end one early nor let one live on.
// The stamp in the record counts only for a lease that was granted before this process began, from its first sight on.
import type { Clock } from '../../domain/ports.ts';
import type { LeaseRecord } from '../../store/seam/workers.ts';

type Terms = Pick<LeaseRecord, 'resource_id' | 'generation' | 'expires_at'>;

export class LeaseClock {
  readonly #clock: Clock;
  /** The longest that a lease holds, ms. */
  readonly #longestMs: number;
  readonly #ends = new Map<string, { generation: number; at: number }>();

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** This generation holds for `ms` from now, or as long as the one before when that is longer. */
  granted({ resource_id, generation }: Terms, ms: number): void {
    const at = this.#clock.monotonic() + ms;
    const known = this.#ends.get(resource_id)?.at ?? 0;
    this.#ends.set(resource_id, { generation, at: Math.max(at, known) });
  }

  /** Ms since its end; below 0 while it holds. */
  overMs(lease: Terms): number {
    const known = this.#ends.get(lease.resource_id);
    const end = known && known.generation >= lease.generation ? known : this.#firstSight(lease);
    return this.#clock.monotonic() - end.at;
  }

  /** Keeps only these. */
  retain(leases: readonly Terms[]): void {
    const ids = new Set(leases.map(({ resource_id }) => resource_id));
    for (const id of this.#ends.keys()) if (!ids.has(id)) this.#ends.delete(id);
  }

  #firstSight({ resource_id, generation, expires_at }: Terms): { generation: number; at: number } {
    const leftMs = Math.min(Date.parse(expires_at) - this.#clock.now(), this.#longestMs);
    const end = { generation, at: this.#clock.monotonic() + leftMs };
    this.#ends.set(resource_id, end);
    return end;
  }
}
