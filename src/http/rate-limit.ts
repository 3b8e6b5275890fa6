// Whose bucket a call counts for, and what the answer says of it (docs/design/api.md#rate-limits). Refused keys count
// for the address that sent them, before another is looked at; accepted calls for owner, key or address, as configured. What
// counts for an owner counts for the key behind it, too: anybody can invent owners.
import type { RateLimits } from '../control/api/system.ts';
import { addressScope } from '../domain/address.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import type { RateVerdict } from '../domain/rate.ts';
import { RecentProofs } from './recent-proofs.ts';

/** Where the headers go: the reply. */
export interface Headed {
  header(name: string, value: number): unknown;
}

/** Where a call comes from. */
export interface Origin {
  /** Any object that lives as long as the connection. */
  connection: object;
  /** The client's address, as far as it can be trusted. */
  address: string;
  reply: Headed;
}

export interface RateLimiter {
  /** Counts an accepted call; throws `resource_limit` when that is one too many. `key` stands for a proved key. */
  count(who: { owner: string | undefined; key: string | undefined }, origin: Origin): void;
  /**
   * The refusal of a further try from this address, or undefined. `presented`, the keys of the request, are let through
   * where exactly they proved right from there lately; all else that is refused with keys counts as a guess.
   */
  blocked(origin: Origin, presented?: string): ServiceError | undefined;
  /** Counts keys that were refused, or that were missing. */
  failed(origin: Origin, presented?: string): void;
  /** These keys were right, and nothing beside them was wrong. */
  proved(origin: Origin, presented: string): void;
}

export function rateLimiter(rates: RateLimits, clock: Pick<Clock, 'monotonic'>): RateLimiter {
  if (!rates.enabled) return UNLIMITED;
  const [bucketOf, wideBucketOf] = [bucketNames(rates), bucketNames(rates)];
  const attempts = ({ address }: Origin) => rates.bucket(`failed ${addressScope(address)}`);
  const lately = new RecentProofs(rates, clock);
  return {
    count: ({ owner, key }, origin) => {
      const scope =
        rates.keyBy !== 'ip' && key !== undefined ? `key ${key}` : `ip ${addressScope(origin.address)}`;
      const isForOwner = rates.keyBy === 'owner' && owner !== undefined;
      const verdict = isForOwner
        ? rates.call(bucketOf(`owner ${owner}`, origin.connection), wideBucketOf(scope, origin.connection))
        : rates.call(bucketOf(scope, origin.connection));
      tell(origin.reply, verdict);
      if (!verdict.allowed) throw tooMany('Too many calls.', verdict);
    },
    blocked: (origin, presented) => {
      const bucket = attempts(origin);
      const verdict = rates.mayTry(bucket);
      if (verdict.allowed) return undefined;
      if (presented !== undefined && lately.has(origin, presented)) {
        if (rates.mayProve(bucket).allowed) return undefined;
      } else if (presented !== undefined) rates.guessed(bucket);
      tell(origin.reply, verdict);
      return tooMany('This address sent too many calls with a wrong key or without a key.', verdict);
    },
    failed: (origin, presented) => {
      const bucket = attempts(origin);
      if (presented !== undefined) {
        lately.forget(origin, presented);
        rates.guessed(bucket);
      }
      tell(origin.reply, rates.failed(bucket));
    },
    proved: (origin, presented) => lately.note(origin, presented),
  };
}

const UNLIMITED: RateLimiter = {
  count: () => {},
  blocked: () => undefined,
  failed: () => {},
  proved: () => {},
};

/** A connection mostly speaks for one caller: its bucket's name need not be hashed for each call. */
function bucketNames(rates: RateLimits): (text: string, connection: object) => string {
  const names = new WeakMap<object, { text: string; bucket: string }>();
  return (text, connection) => {
    const known = names.get(connection);
    if (known?.text === text) return known.bucket;
    const bucket = rates.bucket(text);
    names.set(connection, { text, bucket });
    return bucket;
  };
}

function tell(reply: Headed, { limit, remaining }: RateVerdict): void {
  reply.header('X-RateLimit-Limit', limit);
  reply.header('X-RateLimit-Remaining', remaining);
}

function tooMany(message: string, { retryAfterMs }: RateVerdict): ServiceError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new ServiceError('resource_limit', message, {
    retryAfterMs,
    remedy: `Try again in ${seconds} s.`,
    details: { nothing_done: true },
  });
}
