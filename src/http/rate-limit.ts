// Whose bucket a call counts for, and what the answer says of it (api.md part 10). Refused keys count for the address
// that sent them, before another is looked at; accepted calls for owner, key or address, as configured.
import type { RateLimits } from '../control/rate-limits.ts';
import { addressScope } from '../domain/address.ts';
import { ServiceError } from '../domain/errors.ts';
import type { RateVerdict } from '../domain/rate.ts';

/** Where the headers go: the reply. */
export interface Headed {
  header(name: string, value: number): unknown;
}

/** Where a call comes from. */
export interface Origin {
  /** Any object that lives as long as the connection. */
  connection: object;
  /** Of the client, as far as it can be trusted. */
  address: string;
  reply: Headed;
}

export interface RateLimiter {
  /** Counts an accepted call; throws `resource_limit` when that is one too many. `key` stands for a proved key. */
  count(who: { owner: string | undefined; key: string | undefined }, origin: Origin): void;
  /** The refusal of a further try from this address, or undefined. */
  blocked(origin: Origin): ServiceError | undefined;
  /** Counts a key that was refused, or one that was missing. */
  failed(origin: Origin): void;
}

export function rateLimiter(rates: RateLimits): RateLimiter {
  if (!rates.enabled) return UNLIMITED;
  // A connection mostly speaks for one caller: its bucket's name need not be hashed for each call.
  const names = new WeakMap<object, { text: string; bucket: string }>();
  const bucketOf = (text: string, connection: object): string => {
    const known = names.get(connection);
    if (known?.text === text) return known.bucket;
    const bucket = rates.bucket(text);
    names.set(connection, { text, bucket });
    return bucket;
  };
  const attempts = ({ address }: Origin) => rates.bucket(`failed ${addressScope(address)}`);
  return {
    count: ({ owner, key }, origin) => {
      const scope =
        rates.keyBy === 'owner' && owner !== undefined
          ? `owner ${owner}`
          : rates.keyBy !== 'ip' && key !== undefined
            ? `key ${key}`
            : `ip ${addressScope(origin.address)}`;
      const verdict = rates.call(bucketOf(scope, origin.connection));
      tell(origin.reply, verdict);
      if (!verdict.allowed) throw tooMany('Too many calls.', verdict);
    },
    blocked: (origin) => {
      const verdict = rates.mayTry(attempts(origin));
      if (verdict.allowed) return undefined;
      tell(origin.reply, verdict);
      return tooMany('Too many calls with a wrong key or none came from this address.', verdict);
    },
    failed: (origin) => tell(origin.reply, rates.failed(attempts(origin))),
  };
}

const UNLIMITED: RateLimiter = { count: () => {}, blocked: () => undefined, failed: () => {} };

function tell(reply: Headed, { limit, remaining }: RateVerdict): void {
  reply.header('X-RateLimit-Limit', limit);
  reply.header('X-RateLimit-Remaining', remaining);
}

function tooMany(message: string, { retryAfterMs }: RateVerdict): ServiceError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new ServiceError('resource_limit', message, { retryAfterMs, remedy: `Try again in ${seconds} s.` });
}
