// The rate limits as the edges apply them. The edge decides which bucket a call counts for; keys themselves are never
// kept.
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
  /** Refused keys, and calls refused after too many of those. */
  failed_total: number;
  blocked_total: number;
}

export interface RateLimits {
  readonly enabled: boolean;
  readonly keyBy: Config['rate_limit']['key_by'];
  /** Names the bucket for `text`: a hash that only this process can compute. */
  bucket(text: string): string;
  /**
   * Counts a call by an authenticated caller. `wide` is the wider bucket of its key, which it counts for as well; the
   * verdict is that of `bucket`.
   */
  call(bucket: string, wide?: string): RateVerdict;
  /** Whether the address may try another key. */
  mayTry(bucket: string): RateVerdict;
  /** Counts a key that was refused or missing. */
  failed(bucket: string): RateVerdict;
  /** Whether even an address that recently proved a key may try. Such an address did not cause the refusal itself. */
  mayProve(bucket: string): RateVerdict;
  /** Counts a key that was wrong or that was not checked. */
  guessed(bucket: string): void;
  stats(): RateStats;
}
