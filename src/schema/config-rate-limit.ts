// How many calls a caller may make: a part of config.ts.
import { choice, duration, flag, integer, section } from './config-kinds.ts';

export const RateLimitConfig = section('Rate limits; each caller has a token bucket.', {
  enabled: flag(
    false,
    'Limit calls, and failed authentications per address. Each of several servers counts the calls that it gets.',
  ),
  requests_per_minute: integer(120, 1, 6_000_000, 'Sustained calls per minute.'),
  burst: integer(60, 1, 100_000, 'Calls allowed in a burst.'),
  key_by: choice(
    ['owner', 'api_key', 'ip'],
    'owner',
    'What identifies a bucket: the owner (X-User-ID), or the key, or the address. A call without the configured one falls back to the next.',
  ),
  key_multiple: integer(
    20,
    1,
    10_000,
    'With key_by owner: the limit for all owners of one key together (of one address, without a key), as a multiple of the limit of one owner.',
  ),
  bucket_ttl: duration('15m', 'How long a full bucket is kept.'),
  cleanup_interval: duration('1m', 'How often full buckets are removed; at least 1s.'),
  max_buckets: integer(100_000, 100, 10_000_000, 'Maximum number of buckets; the fullest are removed first.'),
});
