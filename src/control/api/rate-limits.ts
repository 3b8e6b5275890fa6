// The rate limits as the edges apply them. Which bucket a call counts for is the edge's decision; the key itself is never kept.
import type { RateVerdict } from '../../domain/rate.ts';
import type { Config } from '../../schema/config.ts';

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
  /** A call by an accepted caller. `wide` is the wider bucket of its key, for which it counts, too; the verdict is of `bucket`. */
  call(bucket: string, wide?: string): RateVerdict;
  /** Whether another key may be tried. */
  mayTry(bucket: string): RateVerdict;
  /** A key that was refused, or one that was missing. */
  failed(bucket: string): RateVerdict;
  /** Whether even one that proved itself lately may try; it is no such one's doing when not. */
  mayProve(bucket: string): RateVerdict;
  /** A key that was wrong, or that was not looked at. */
  guessed(bucket: string): void;
  stats(): RateStats;
  /** The section of the configuration was changed; where it was, everybody begins with a full bucket. */
  reload(): void;
}
