// A bounded set of token buckets of one shape. If there is no room, the fullest are evicted first because they lose the
// least: a flood of new keys evicts its own buckets and never that of a limited caller.
import { type BucketShape, type RateVerdict, takeToken } from './rate.ts';

/** The part of all buckets that is evicted at once. */
const ROOM_SHARE = 16;

export interface BucketLimits extends BucketShape {
  max: number;
  /** How long a full bucket is kept. */
  ttlMs: number;
}

export class RateBuckets {
  readonly #limits: BucketLimits;
  /** When each bucket is full again, by key. */
  readonly #fullAt = new Map<string, number>();
  #evicted = 0;

  constructor(limits: BucketLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#fullAt.size;
  }

  /** Buckets that were evicted before they were full. */
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

  /** Returns what `take` would return, without taking a token or making a bucket. */
  peek(key: string, now: number): RateVerdict {
    return takeToken(this.#limits, this.#fullAt.get(key) ?? now, now).verdict;
  }

  /** Removes the buckets that have been full for the time to live. */
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

  /**
   * The number of tokens that may be missing for a bucket to be among the `wanted` fullest. Counts instead of sorting
   * because sorting would stall.
   */
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

  /** Missing tokens, rounded up, from 0 to the burst. */
  #missing(fullAt: number, now: number): number {
    const { refillMs, burst } = this.#limits;
    return Math.min(burst, Math.max(0, Math.ceil((fullAt - now) / refillMs)));
  }
}
