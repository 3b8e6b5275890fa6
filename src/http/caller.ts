// The caller as the control plane knows it: role, owner, credential, request id.
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../control/control-plane.ts';
import { type AccessRules, type Identity, mayAdminister, requireOwner } from '../domain/access.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseOwner } from '../domain/owner.ts';
import type { Authenticate } from './authenticate.ts';
import type { Route, RouteAuth } from './route.ts';

export interface Admitted {
  caller: Caller;
  /** A key was proved, or none is asked for: health answers in full. */
  full: boolean;
}

export interface Presented {
  headers: IncomingHttpHeaders;
  /** Lives as long as the connection. */
  connection: object;
  requestId: string;
}

const NOBODY: Identity = { role: 'anonymous', credential: 'anonymous' };

/**
 * Throws `unauthorized` without a valid key on a route that needs one, `forbidden` for a key that is not enough,
 * `bad_request` for a bad or missing X-User-ID.
 */
export function admit(
  route: Pick<Route, 'auth' | 'owned'>,
  { headers, connection, requestId }: Presented,
  { authenticate, rules }: { authenticate: Authenticate; rules: AccessRules },
): Admitted {
  const identity = route.auth === 'none' ? undefined : authenticate(headers, connection);
  if (route.auth === 'none' || route.auth === 'optional')
    return { caller: callerOf(identity ?? NOBODY, requestId), full: identity !== undefined };
  if (!identity) throw unauthorized(headers);
  if (isForAdmins(route.auth, rules) && !mayAdminister(rules, identity.role)) throw notAdmin();
  const caller = callerOf(identity, requestId);
  const owner = headers['x-user-id'];
  if (owner !== undefined) caller.owner = parseOwner(String(owner), 'X-User-ID');
  if (route.owned) requireOwner(rules, caller);
  return { caller, full: true };
}

function isForAdmins(auth: RouteAuth, { quota_writes }: AccessRules): boolean {
  return auth === 'admin' || (auth === 'quota_write' && quota_writes === 'admin');
}

function notAdmin(): ServiceError {
  return new ServiceError('forbidden', 'An admin key is needed.', {
    remedy: 'Send it in the header X-Admin-API-Key.',
  });
}

function callerOf({ role, credential }: Identity, request_id: string): Caller {
  return { role, credential, request_id };
}

function unauthorized(headers: IncomingHttpHeaders): ServiceError {
  const given = headers['x-api-key'] !== undefined || headers['x-admin-api-key'] !== undefined;
  return new ServiceError('unauthorized', given ? 'The API key is not valid.' : 'An API key is needed.', {
    remedy: 'Send it in the header X-API-Key.',
  });
}
