// The rate limits that apply: buckets by hashed key, expired after a while, and counts for metrics. The edge decides
// which bucket a call counts for (http/rate-limit.ts); keys themselves are never kept.
import { createHash } from 'node:crypto';
import { parseDuration } from '../../domain/duration.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock, Ids, Timer } from '../../domain/ports.ts';
import type { RateVerdict } from '../../domain/rate.ts';
import { RateBuckets } from '../../domain/rate-buckets.ts';
import type { Config } from '../../schema/config.ts';
import type { RateLimits, RateStats } from '../api/system.ts';

const MINUTE_MS = 60_000;
/** Wrong keys that block an address for everyone, in multiples of those that block it without a recent proof. */
const GUESSES = 10;

export interface RateLimitDeps {
  config: LiveConfig<Pick<Config, 'rate_limit'>>;
  clock: Clock;
  ids: Ids;
}

export class BucketRateLimits implements RateLimits {
  readonly #deps: RateLimitDeps;
  readonly #salt: string;
  #sets: ReturnType<typeof bucketSets>;
  readonly #totals = { allowed_total: 0, limited_total: 0, failed_total: 0, blocked_total: 0 };
  #timer: Timer | undefined;

  constructor(deps: RateLimitDeps) {
    this.#deps = deps;
    this.#salt = deps.ids.uuid();
    this.#sets = bucketSets(this.#config);
    // With changed limits every bucket is full again.
    deps.config.onChange((current, previous) => {
      if (current.rate_limit === previous.rate_limit) return;
      this.#sets = bucketSets(this.#config);
      if (this.#timer === undefined) return;
      this.stop();
      this.start();
    });
  }

  get #config(): Config['rate_limit'] {
    return this.#deps.config.current().rate_limit;
  }

  get enabled(): boolean {
    return this.#config.enabled;
  }

  get keyBy(): Config['rate_limit']['key_by'] {
    return this.#config.key_by;
  }

  /** Starts the periodic cleanup. */
  start(): void {
    const { cleanup_interval } = this.#config;
    const everyMs = Math.max(1000, parseDuration(cleanup_interval, 'rate_limit.cleanup_interval'));
    this.#timer = this.#deps.clock.after(everyMs, () => {
      for (const set of Object.values(this.#sets)) set.prune(this.#now);
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  bucket(text: string): string {
    return createHash('sha256').update(`${this.#salt} ${text}`).digest('base64url').slice(0, 22);
  }

  get #now(): number {
    return this.#deps.clock.monotonic();
  }

  call(bucket: string, wide?: string): RateVerdict {
    const verdict = this.#take(bucket, wide);
    this.#totals[verdict.allowed ? 'allowed_total' : 'limited_total'] += 1;
    return verdict;
  }

  /** A call that either bucket refuses takes from neither. */
  #take(bucket: string, wide: string | undefined): RateVerdict {
    const { calls, keys } = this.#sets;
    const room = wide === undefined ? undefined : keys.peek(wide, this.#now);
    if (room?.allowed === false)
      return { ...calls.peek(bucket, this.#now), allowed: false, retryAfterMs: room.retryAfterMs };
    const verdict = calls.take(bucket, this.#now);
    if (verdict.allowed && wide !== undefined) keys.take(wide, this.#now);
    return verdict;
  }

  mayTry(bucket: string): RateVerdict {
    const verdict = this.#sets.calls.peek(bucket, this.#now);
    if (!verdict.allowed) this.#totals.blocked_total += 1;
    return verdict;
  }

  failed(bucket: string): RateVerdict {
    this.#totals.failed_total += 1;
    return this.#sets.calls.take(bucket, this.#now);
  }

  mayProve(bucket: string): RateVerdict {
    return this.#sets.guesses.peek(bucket, this.#now);
  }

  guessed(bucket: string): void {
    this.#sets.guesses.take(bucket, this.#now);
  }

  stats(): RateStats {
    const { enabled, key_by, requests_per_minute, burst, max_buckets } = this.#config;
    const { size: buckets, evicted: evicted_total } = this.#sets.calls;
    const limits = { enabled, key_by, requests_per_minute, burst, max_buckets };
    return { ...limits, buckets, evicted_total, ...this.#totals };
  }
}

/** Buckets of callers (owners, keys, addresses), of keys whose calls count for owners, of addresses that tried keys. */
const bucketSets = (config: Config['rate_limit']) => ({
  calls: bucketsOf(config, 1),
  keys: bucketsOf(config, config.key_multiple),
  guesses: bucketsOf(config, GUESSES),
});

/** Buckets with `multiple` times the tokens and the refill rate. */
function bucketsOf(
  { requests_per_minute, burst, max_buckets, bucket_ttl }: Config['rate_limit'],
  multiple: number,
): RateBuckets {
  return new RateBuckets({
    burst: burst * multiple,
    refillMs: MINUTE_MS / (requests_per_minute * multiple),
    max: max_buckets,
    ttlMs: parseDuration(bucket_ttl, 'rate_limit.bucket_ttl'),
  });
}
