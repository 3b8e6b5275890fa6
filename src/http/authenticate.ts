// Who calls, by the keys of the request. What this very connection proved before is not proved again until a named key ends
// or changes: comparing with what the same sender sent earlier tells it nothing, and spares two digests a request.
// Everything else is a try, and tries that fail are limited by address. Keys that proved right from the address lately are let
// through while others fail.
import type { IncomingHttpHeaders } from 'node:http';
import type { KeyEnd, NamedKeys } from '../control/api/keys.ts';
import {
  type AccessRules,
  type FindKey,
  type Identity,
  identify,
  isGuess,
  keyDigest,
  type PresentedKeys,
} from '../domain/access.ts';
import { isKeyText } from '../domain/key-text.ts';
import { SESSION_PREFIX } from '../schema/session.ts';
import type { Origin, RateLimiter } from './rate-limit.ts';

/**
 * Undefined: no key, or a wrong one. Throws `resource_limit` after too many failures from this address; where a key is
 * not `needed` the caller then counts as one without.
 */
export type Authenticate = (
  headers: IncomingHttpHeaders,
  origin: Origin,
  needed: boolean,
) => Identity | undefined;

interface Proof {
  api: string | undefined;
  admin: string | undefined;
  identity: Identity;
  /** The version of the named keys at that time: a key may have ended since. */
  version: number;
}

export function authenticator(rules: AccessRules, limiter: RateLimiter, named: NamedKeys): Authenticate {
  const proofs = new WeakMap<object, Proof>();
  const nobody = identify(rules, {});
  const find: FindKey = (digest) => named.find(digest);
  const holds = ({ identity: { key }, version }: Proof) =>
    version === named.version && (key === undefined || !named.isOver(key));
  const proved = (identity: Identity) => {
    if (identity.key) named.used(identity.key.id);
    return identity;
  };
  return (headers, origin, needed) => {
    const keys = keysOf(headers);
    if (keys.api === undefined && keys.admin === undefined && (nobody || !needed)) return nobody;
    const before = proofs.get(origin.connection);
    if (before && before.api === keys.api && before.admin === keys.admin && holds(before))
      return proved(before.identity);
    const isGiven = keys.api !== undefined || keys.admin !== undefined;
    const presented = isGiven ? JSON.stringify([keys.api, keys.admin]) : undefined;
    const refusal = limiter.blocked(origin, presented);
    if (refusal && needed) throw refusal;
    if (refusal) return nobody;
    const identity = identify(rules, keys, find);
    if (identity)
      proofs.set(origin.connection, { api: keys.api, admin: keys.admin, identity, version: named.version });
    if (!identity || isGuess(rules, keys, find)) limiter.failed(origin, presented);
    else if (presented !== undefined) limiter.proved(origin, presented);
    return identity && proved(identity);
  };
}

/** Calls `judge`; after the keys were read again, if one of the request may have been made by another server a moment ago. */
export function withFreshKeys(headers: IncomingHttpHeaders, access: Judged, judge: () => void): void {
  if (access.named.areShared && mayBeNew(headers, access)) void access.named.refresh().then(judge);
  else judge();
}

interface Judged {
  rules: AccessRules;
  named: NamedKeys;
}

function mayBeNew(headers: IncomingHttpHeaders, { rules, named }: Judged): boolean {
  const keys = keysOf(headers);
  const hasForm = [keys.api, keys.admin].some(
    (key) => key !== undefined && (isKeyText(key) || key.startsWith(SESSION_PREFIX)),
  );
  if (!hasForm || endOfKeys(keys, named)) return false;
  return !identify(rules, keys, (digest) => named.find(digest));
}

/** Why one of these keys, which was valid once, is not any more. */
export function endOfKeys(
  { api, admin }: PresentedKeys,
  named: Pick<NamedKeys, 'endOf'>,
): KeyEnd | undefined {
  const given = [api, admin].filter((key) => key !== undefined);
  return given.map((key) => named.endOf(keyDigest(key))).find((end) => end !== undefined);
}

export function keysOf(headers: IncomingHttpHeaders): { api: string | undefined; admin: string | undefined } {
  return { api: text(headers['x-api-key']), admin: text(headers['x-admin-api-key']) };
}

function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
