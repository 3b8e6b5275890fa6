// Who calls, by the keys of the request. What this very connection proved before is not proved again: comparing with
// what the same sender sent earlier tells it nothing, and spares two digests a request.
import type { IncomingHttpHeaders } from 'node:http';
import { type AccessRules, type Identity, identify } from '../domain/access.ts';

/** `connection` is any object that lives as long as the connection. Undefined: no key, or a wrong one. */
export type Authenticate = (headers: IncomingHttpHeaders, connection: object) => Identity | undefined;

interface Proof {
  api: string | undefined;
  admin: string | undefined;
  identity: Identity;
}

export function authenticator(rules: AccessRules): Authenticate {
  const proofs = new WeakMap<object, Proof>();
  return (headers, connection) => {
    const api = text(headers['x-api-key']);
    const admin = text(headers['x-admin-api-key']);
    const before = proofs.get(connection);
    if (before && before.api === api && before.admin === admin) return before.identity;
    const identity = identify(rules, { api, admin });
    if (identity) proofs.set(connection, { api, admin, identity });
    return identity;
  };
}

function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
