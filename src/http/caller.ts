// The caller as the control plane knows it: role, owner, credential, request id.
import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../control/control-plane.ts';
import { type AccessRules, type Identity, requireOwner } from '../domain/access.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseOwner } from '../domain/owner.ts';
import type { Authenticate } from './authenticate.ts';
import type { Route } from './route.ts';

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

/** Throws `unauthorized` without a valid key on an `api` route, `bad_request` for a bad or missing X-User-ID. */
export function admit(
  route: Pick<Route, 'auth' | 'owned'>,
  { headers, connection, requestId }: Presented,
  { authenticate, rules }: { authenticate: Authenticate; rules: AccessRules },
): Admitted {
  const identity = route.auth === 'none' ? undefined : authenticate(headers, connection);
  if (route.auth !== 'api')
    return { caller: callerOf(identity ?? NOBODY, requestId), full: identity !== undefined };
  if (!identity) throw unauthorized(headers);
  const caller = callerOf(identity, requestId);
  const owner = headers['x-user-id'];
  if (owner !== undefined) caller.owner = parseOwner(String(owner), 'X-User-ID');
  if (route.owned) requireOwner(rules, caller);
  return { caller, full: true };
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
