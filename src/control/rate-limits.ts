// The rate limits in force: buckets by hashed key, forgotten in time, and counts for metrics. Whose bucket a call counts
// for is the edge's decision (http/rate-limit.ts); the key itself is never kept.
import { createHash } from 'node:crypto';
import { parseDuration } from '../domain/duration.ts';
import type { Clock, Ids, Timer } from '../domain/ports.ts';
import type { RateVerdict } from '../domain/rate.ts';
import { RateBuckets } from '../domain/rate-buckets.ts';
import type { Config } from '../schema/config.ts';

const MINUTE_MS = 60_000;

export interface RateStats {
  enabled: boolean;
  key_by: Config['rate_limit']['key_by'];
  requests_per_minute: number;
  burst: number;
  max_buckets: number;
  buckets: number;
  evicted_total: number;
  allowed_total: number;
  limited_total: number;
  /** Keys that were refused, and calls refused for too many of those. */
  failed_total: number;
  blocked_total: number;
}

export interface RateLimits {
  readonly enabled: boolean;
  readonly keyBy: Config['rate_limit']['key_by'];
  /** The name of the bucket of what `text` stands for: a hash that only this process can make. */
  bucket(text: string): string;
  /** A call by an accepted caller. */
  call(bucket: string): RateVerdict;
  /** Whether another key may be tried. */
  mayTry(bucket: string): RateVerdict;
  /** A key that was refused. */
  failed(bucket: string): RateVerdict;
  stats(): RateStats;
  /** The section of the configuration was changed; where it was, everybody begins with a full bucket. */
  reload(): void;
}

export interface RateLimitDeps {
  config: Config['rate_limit'];
  clock: Clock;
  ids: Ids;
}

export class BucketRateLimits implements RateLimits {
  readonly #deps: RateLimitDeps;
  readonly #salt: string;
  #buckets: RateBuckets;
  #built: string;
  readonly #totals = { allowed_total: 0, limited_total: 0, failed_total: 0, blocked_total: 0 };
  #timer: Timer | undefined;

  constructor(deps: RateLimitDeps) {
    this.#deps = deps;
    this.#salt = deps.ids.uuid();
    this.#built = JSON.stringify(deps.config);
    this.#buckets = bucketsOf(deps.config);
  }

  reload(): void {
    const { config } = this.#deps;
    const built = JSON.stringify(config);
    if (built === this.#built) return;
    this.#built = built;
    this.#buckets = bucketsOf(config);
  }

  get enabled(): boolean {
    return this.#deps.config.enabled;
  }

  get keyBy(): Config['rate_limit']['key_by'] {
    return this.#deps.config.key_by;
  }

  /** Cleans up from now on. */
  start(): void {
    const { cleanup_interval } = this.#deps.config;
    const everyMs = Math.max(1000, parseDuration(cleanup_interval, 'rate_limit.cleanup_interval'));
    this.#timer = this.#deps.clock.after(everyMs, () => {
      this.#buckets.prune(this.#deps.clock.monotonic());
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }

  bucket(text: string): string {
    return createHash('sha256').update(`${this.#salt} ${text}`).digest('base64url').slice(0, 22);
  }

  call(bucket: string): RateVerdict {
    const verdict = this.#buckets.take(bucket, this.#deps.clock.monotonic());
    this.#totals[verdict.allowed ? 'allowed_total' : 'limited_total'] += 1;
    return verdict;
  }

  mayTry(bucket: string): RateVerdict {
    const verdict = this.#buckets.peek(bucket, this.#deps.clock.monotonic());
    if (!verdict.allowed) this.#totals.blocked_total += 1;
    return verdict;
  }

  failed(bucket: string): RateVerdict {
    this.#totals.failed_total += 1;
    return this.#buckets.take(bucket, this.#deps.clock.monotonic());
  }

  stats(): RateStats {
    const { enabled, key_by, requests_per_minute, burst, max_buckets } = this.#deps.config;
    const { size: buckets, evicted: evicted_total } = this.#buckets;
    return {
      ...{ enabled, key_by, requests_per_minute, burst, max_buckets },
      ...{ buckets, evicted_total, ...this.#totals },
    };
  }
}

function bucketsOf({
  requests_per_minute,
  burst,
  max_buckets,
  bucket_ttl,
}: RateLimitDeps['config']): RateBuckets {
  return new RateBuckets({
    burst,
    refillMs: MINUTE_MS / requests_per_minute,
    max: max_buckets,
    ttlMs: parseDuration(bucket_ttl, 'rate_limit.bucket_ttl'),
  });
}
