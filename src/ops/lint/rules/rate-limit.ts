// Rules about how much one caller may call.
import { findingIf, type LintRule } from '../rule.ts';

const MOST_PER_MINUTE = 60_000;
const MOST_AT_ONCE = 10_000;

export const RATE_LIMIT_RULES: readonly LintRule[] = [
  {
    id: 'SVC301',
    topic: 'rate_limit',
    key: 'rate_limit.enabled',
    title: 'Calls are not limited.',
    why: 'One caller can take all the time of the server, and keys can be guessed as fast as the network carries.',
    remedy: 'Set rate_limit.enabled to true.',
    example: 'rate_limit:\n  enabled: true\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(!config.rate_limit.enabled),
  },
  {
    id: 'SVC302',
    topic: 'rate_limit',
    key: 'rate_limit.requests_per_minute',
    title: 'The limit of calls is too high to limit anything.',
    why: 'A limit that one server cannot even reach protects nobody; it only looks as if there were one.',
    remedy: `Set rate_limit.requests_per_minute to at most ${MOST_PER_MINUTE} and rate_limit.burst to at most ${MOST_AT_ONCE}.`,
    example: 'rate_limit:\n  enabled: true\n  requests_per_minute: 600\n  burst: 120\n',
    level: 'off',
    production: 'error',
    check: ({ config: { rate_limit } }) => [
      ...findingIf(rate_limit.enabled && rate_limit.requests_per_minute > MOST_PER_MINUTE),
      ...findingIf(rate_limit.enabled && rate_limit.burst > MOST_AT_ONCE, {
        key: 'rate_limit.burst',
        message: 'So many calls at once are no limit.',
      }),
    ],
  },
  {
    id: 'SVC303',
    topic: 'rate_limit',
    key: 'rate_limit.key_by',
    title: 'Callers are told apart by their address alone.',
    why: 'All behind one gateway or proxy share a limit, and whoever has many addresses has as many limits.',
    remedy: 'Set rate_limit.key_by to owner or api_key.',
    example: 'rate_limit:\n  enabled: true\n  key_by: owner\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { rate_limit } }) => findingIf(rate_limit.enabled && rate_limit.key_by === 'ip'),
  },
];
