// How many calls a caller may make: a part of config.ts.
import { choice, duration, flag, section, whole } from './config-kinds.ts';

export const RateLimitConfig = section('How many calls a caller may make; a token bucket each.', {
  enabled: flag(false, 'Limit calls, and failed authentications of each address.'),
  requests_per_minute: whole(120, 1, 6_000_000, 'Calls a minute in the long run.'),
  burst: whole(60, 1, 100_000, 'Calls at once.'),
  key_by: choice(
    ['owner', 'api_key', 'ip'],
    'owner',
    'Who has a bucket: an owner (X-User-ID), else a key, else an address; a key, else an address; or an address.',
  ),
  key_multiple: whole(
    20,
    1,
    10_000,
    'With key_by owner: how many times the calls of one owner all owners of a key may make; without a key, of an address.',
  ),
  bucket_ttl: duration('15m', 'How long a bucket that is full again is kept.'),
  cleanup_interval: duration('1m', 'How often such buckets are looked for; at least 1s.'),
  max_buckets: whole(100_000, 100, 10_000_000, 'Buckets at most; the fullest make room for new ones.'),
});
