// The caller as the control plane knows it: role, owner, credential, request id.
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../control/api/caller.ts';
import type { KeyEnd, NamedKeys } from '../control/api/keys.ts';
import {
  type AccessRules,
  hasScope,
  type Identity,
  mayAdminister,
  type NamedKey,
  requireOwner,
} from '../domain/access.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseOwner } from '../domain/owner.ts';
import { ownerFromHeader } from '../domain/owner-header.ts';
import type { WorkerIdentity } from '../domain/worker-access.ts';
import type { KeyScope } from '../schema/key-words.ts';
import { SESSION_PREFIX } from '../schema/session.ts';
import { type Authenticate, endOfKeys, keysOf } from './authenticate.ts';
import type { Origin, RateLimiter } from './rate-limit.ts';
import type { AuthenticateWorker } from './worker-caller.ts';

/**
 * `none`: never a key. `code`: a code in the request that is good once; a key neither helps nor harms. `optional`: a key shows more. `api`: an API or admin key when `auth.enabled`. `admin`: an admin
 * key, or what stands in for it (`domain/access.mayAdminister`). `quota_write`: `api` or `admin`, as `auth.quota_writes` says;
 * `image_write`: as `images.writes` says.
 * `worker`: the credential of the worker that the path names, and nothing else. `none`, `code`, `optional` and `worker` do not
 * count for the rate limit.
 */
export type RouteAuth =
  | 'none'
  | 'code'
  | 'optional'
  | 'api'
  | 'admin'
  | 'quota_write'
  | 'image_write'
  | 'worker';

export interface AuthorizedCaller {
  caller: Caller;
  /** A key was proved, or none is asked for: health answers in full. */
  full: boolean;
  /** Admin routes are open to the caller. */
  administers: boolean;
  /** Only on routes of workers. */
  worker?: WorkerIdentity;
}

export interface Presented extends Origin {
  headers: IncomingHttpHeaders;
  requestId: string;
  /** The worker that the path names, where it does. */
  worker_id?: unknown;
  /** Called with the identity as soon as it is known, also when the request is refused later. */
  identified(identity: Identity): void;
}

export interface Access {
  authenticate: Authenticate;
  authenticateWorker: AuthenticateWorker;
  rules: AccessRules;
  limiter: RateLimiter;
  named: NamedKeys;
}

/** What of a route says who may call it. */
export interface RouteAccess {
  auth: RouteAuth;
  owned: boolean;
  /** The scope that a named key needs; undefined where no key is needed. */
  scope?: KeyScope | undefined;
}

const NOBODY: Identity = { role: 'anonymous', actor: 'anonymous', credential: 'anonymous' };

/**
 * Throws, in this order: `resource_limit` after too many failed tries, `unauthorized` without a valid key where one is
 * needed, `resource_limit` for a call too many, `forbidden` on an admin route and for a named key without the scope,
 * `bad_request` for a bad or missing X-User-ID, `forbidden` for one that is not the owner of the key. On routes of workers
 * as worker-caller.ts says.
 */
export function authorize(route: RouteAccess, presented: Presented, access: Access): AuthorizedCaller {
  return route.auth === 'worker'
    ? authorizeWorker(presented, access)
    : authorizeCaller(route, presented, access);
}

function authorizeWorker(presented: Presented, { authenticateWorker }: Access): AuthorizedCaller {
  const worker = authenticateWorker(presented.headers, presented.worker_id, presented);
  const name = `worker:${worker.worker_id}`;
  const identity: Identity = { role: 'worker', actor: name, credential: name };
  presented.identified(identity);
  return { caller: callerOf(identity, presented.requestId), full: false, administers: false, worker };
}

function authorizeCaller(route: RouteAccess, presented: Presented, access: Access): AuthorizedCaller {
  const { headers, requestId } = presented;
  const { authenticate, rules, limiter, named } = access;
  const needed = isKeyed(route);
  const isAsked = route.auth !== 'none' && route.auth !== 'code';
  const identity = isAsked ? authenticate(headers, presented, needed) : undefined;
  if (identity) presented.identified(identity);
  const administers = identity !== undefined && mayAdminister(rules, identity);
  if (!needed)
    return { caller: callerOf(identity ?? NOBODY, requestId), full: identity !== undefined, administers };
  if (!identity) throw unauthorized(headers, named);
  const caller = callerOf(identity, requestId);
  const owner = ownerOf(headers);
  const own = identity.key?.owner_id;
  const key = identity.role === 'anonymous' ? undefined : identity.credential;
  limiter.count({ owner: own ?? owner.name, key }, presented);
  if (identity.key) refuseScope(scopeFor(route, rules), identity.key);
  else if (isForAdmins(route.auth, rules) && !administers) throw notAdmin(rules, identity, headers);
  if (owner.failure) throw owner.failure;
  if (own !== undefined && owner.name !== undefined && owner.name !== own) throw notItsOwner();
  if (own !== undefined) Object.assign(caller, { owner: own, bound: true });
  else if (owner.name !== undefined) caller.owner = owner.name;
  if (route.owned) requireOwner(rules, caller);
  return { caller, full: true, administers };
}

/** The scope of a route that writes images depends on the configuration. */
const scopeFor = ({ auth, scope }: RouteAccess, { image_writes }: AccessRules): KeyScope | undefined =>
  auth === 'image_write' && image_writes === 'api' ? 'use' : scope;

function refuseScope(scope: KeyScope | undefined, { scopes }: Pick<NamedKey, 'scopes'>): void {
  if (scope === undefined || hasScope(scopes, scope)) return;
  throw new ServiceError('forbidden', `The key lacks the scope ${scope}.`, {
    remedy: 'Use a key that has this scope.',
  });
}

function notItsOwner(): ServiceError {
  return new ServiceError('forbidden', 'The key belongs to another owner.', {
    remedy: 'Leave X-User-ID out: the key says who the owner is.',
  });
}

const UNKEYED: readonly RouteAuth[] = ['none', 'code', 'optional', 'worker'];

/** Whether an API key is asked for and calls are counted. */
export function isKeyed({ auth }: { auth: RouteAuth }): boolean {
  return !UNKEYED.includes(auth);
}

function isForAdmins(auth: RouteAuth, { quota_writes, image_writes }: AccessRules): boolean {
  const writes = { quota_write: quota_writes, image_write: image_writes };
  return auth === 'admin' || (auth in writes && writes[auth as keyof typeof writes] === 'admin');
}

function callerOf({ role, actor, credential }: Identity, request_id: string): Caller {
  return { role, actor, credential, request_id };
}

function ownerOf(headers: IncomingHttpHeaders): { name?: string; failure?: unknown } {
  const given = headers['x-user-id'];
  if (given === undefined) return {};
  try {
    return { name: parseOwner(ownerFromHeader(String(given)) ?? '', 'X-User-ID') };
  } catch (failure) {
    return { failure };
  }
}

const isGiven = (headers: IncomingHttpHeaders) =>
  headers['x-api-key'] !== undefined || headers['x-admin-api-key'] !== undefined;

const ENDS: Record<KeyEnd, string> = {
  revoked: 'The API key is revoked.',
  expired: 'The API key has expired.',
  replaced: 'The API key was replaced by a newer one.',
};

/** Only who holds a key that ended learns that it did. */
function unauthorized(headers: IncomingHttpHeaders, named: Access['named']): ServiceError {
  const remedy = 'Send a valid key in the header X-API-Key.';
  if (!isGiven(headers)) return new ServiceError('unauthorized', 'An API key is required.', { remedy });
  const keys = keysOf(headers);
  if (keys.api?.startsWith(SESSION_PREFIX))
    return new ServiceError('unauthorized', 'The session has ended.', {
      remedy: 'Log in again.',
      details: { reason: 'session_ended' },
    });
  const end = endOfKeys(keys, named);
  return new ServiceError('unauthorized', end ? ENDS[end] : 'The API key is not valid.', { remedy });
}

/** When authentication is off nobody has proved a key, so the other refusal applies. */
function notAdmin(rules: AccessRules, { role }: Identity, headers: IncomingHttpHeaders): ServiceError {
  if (role === 'anonymous' && rules.admin_key !== undefined) {
    const message = isGiven(headers) ? 'The admin key is not valid.' : 'The admin key is required.';
    return new ServiceError('unauthorized', message, {
      remedy: 'Send the admin key in the header X-Admin-API-Key.',
    });
  }
  const remedy =
    rules.admin_key === undefined
      ? 'Set auth.admin_api_key, or auth.admin_fallback_enabled.'
      : 'Send the admin key in the header X-Admin-API-Key.';
  return new ServiceError('forbidden', 'This call requires administrator rights.', { remedy });
}
