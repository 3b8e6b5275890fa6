// When leases end, by monotonic time: a wall clock that is set must neither end a lease early nor prolong one. The
// timestamp in the record counts only for a lease that was granted before this process started, from its first sight
// on.
import type { Clock } from '../../domain/ports.ts';
import type { LeaseRecord } from '../../store/seam/workers.ts';

type Terms = Pick<LeaseRecord, 'resource_id' | 'generation' | 'expires_at'>;

export class LeaseClock {
  readonly #clock: Clock;
  /** The longest term of a lease, ms. */
  readonly #longestMs: number;
  readonly #ends = new Map<string, { generation: number; at: number }>();

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** This generation holds for `ms` from now, or as long as the one before if that is longer. */
  granted({ resource_id, generation }: Terms, ms: number): void {
    const at = this.#clock.monotonic() + ms;
    const known = this.#ends.get(resource_id)?.at ?? 0;
    this.#ends.set(resource_id, { generation, at: Math.max(at, known) });
  }

  /** Milliseconds since its end; below 0 while it holds. */
  overMs(lease: Terms): number {
    const known = this.#ends.get(lease.resource_id);
    const end = known && known.generation >= lease.generation ? known : this.#firstSight(lease);
    return this.#clock.monotonic() - end.at;
  }

  /** Forgets all other leases. */
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
