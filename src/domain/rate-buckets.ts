// Many token buckets of one shape, at most so many. When there is no room the fullest go first: they have the least to
// forget, so a flood of new keys pushes out its own buckets and never that of a caller who is being limited.
import { type BucketShape, type RateVerdict, takeToken } from './rate.ts';

/** Of all buckets that go when there is no room for one more. */
const ROOM_SHARE = 16;

export interface BucketLimits extends BucketShape {
  max: number;
  /** How long a bucket is kept after it is full again. */
  ttlMs: number;
}

export class RateBuckets {
  readonly #limits: BucketLimits;
  /** By key: when it is full again. */
  readonly #fullAt = new Map<string, number>();
  #evicted = 0;

  constructor(limits: BucketLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Buckets that had to go although they were not full. */
  get evicted(): number {
    return this.#evicted;
  }

  take(key: string, now: number): RateVerdict {
    const known = this.#fullAt.get(key);
    if (known === undefined && this.#fullAt.size >= this.#limits.max) this.#makeRoom(now);
    const { verdict, fullAt } = takeToken(this.#limits, known ?? now, now);
    this.#fullAt.set(key, fullAt);
    return verdict;
  }

  /** What `take` would say; takes nothing and makes no bucket. */
  peek(key: string, now: number): RateVerdict {
    return takeToken(this.#limits, this.#fullAt.get(key) ?? now, now).verdict;
  }

  /** Forgets the buckets that have been full for the time to live. */
  prune(now: number): void {
    for (const [key, fullAt] of this.#fullAt)
      if (fullAt <= now - this.#limits.ttlMs) this.#fullAt.delete(key);
  }

  #makeRoom(now: number): void {
    const wanted = Math.ceil(this.#limits.max / ROOM_SHARE);
    const most = this.#fullness(now, wanted);
    let left = wanted;
    for (const [key, fullAt] of this.#fullAt) {
      if (this.#missing(fullAt, now) > most) continue;
      this.#fullAt.delete(key);
      if (fullAt > now) this.#evicted += 1;
      left -= 1;
      if (left === 0) return;
    }
  }

  /** How many tokens may miss from a bucket for it to be among the `wanted` fullest. Counts; sorting would stall. */
  #fullness(now: number, wanted: number): number {
    const counts = new Array<number>(this.#limits.burst + 1).fill(0);
    for (const fullAt of this.#fullAt.values()) {
      const missing = this.#missing(fullAt, now);
      counts[missing] = (counts[missing] ?? 0) + 1;
    }
    let sum = 0;
    return counts.findIndex((count) => {
      sum += count;
      return sum >= wanted;
    });
  }

  /** Tokens begun, 0 to the burst. */
  #missing(fullAt: number, now: number): number {
    const { refillMs, burst } = this.#limits;
    return Math.min(burst, Math.max(0, Math.ceil((fullAt - now) / refillMs)));
  }
}
