// Rules about how much one caller may call.
import { findingIf, rulesOf } from '../rule.ts';

const MOST_PER_MINUTE = 60_000;
const MOST_AT_ONCE = 10_000;

export const RATE_LIMIT_RULES = rulesOf('rate_limit', [
  {
    id: 'SVC301',
    key: 'rate_limit.enabled',
    title: 'The rate limit is off.',
    why: 'One caller can overload the server, and an attacker can guess keys at the speed of the network.',
    remedy: 'Set rate_limit.enabled to true.',
    example: 'rate_limit:\n  enabled: true\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(!config.rate_limit.enabled),
  },
  {
    id: 'SVC302',
    key: 'rate_limit.requests_per_minute',
    title: 'The rate limit is too high to have an effect.',
    why: 'A limit that one server cannot reach does not protect it.',
    remedy: `Set rate_limit.requests_per_minute to at most ${MOST_PER_MINUTE} and rate_limit.burst to at most ${MOST_AT_ONCE}.`,
    example: 'rate_limit:\n  enabled: true\n  requests_per_minute: 600\n  burst: 120\n',
    level: 'off',
    production: 'error',
    check: ({ config: { rate_limit } }) => [
      ...findingIf(rate_limit.enabled && rate_limit.requests_per_minute > MOST_PER_MINUTE),
      ...findingIf(rate_limit.enabled && rate_limit.burst > MOST_AT_ONCE, {
        key: 'rate_limit.burst',
        message: 'The burst is too high to have an effect.',
      }),
    ],
  },
  {
    id: 'SVC303',
    key: 'rate_limit.key_by',
    title: 'The rate limit separates callers only by address.',
    why: 'All callers behind one gateway or proxy share a limit, and a caller with many addresses has many limits.',
    remedy: 'Set rate_limit.key_by to owner or api_key.',
    example: 'rate_limit:\n  enabled: true\n  key_by: owner\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { rate_limit } }) => findingIf(rate_limit.enabled && rate_limit.key_by === 'ip'),
  },
]);
