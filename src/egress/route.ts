// Where a request that the server reads leads: the target as the program sees it, the one that is decided and connected to, and
// the credential that the request gets.
import type { IncomingMessage } from 'node:http';
import {
  coversRequest,
  credentialsFor,
  type EgressCredential,
  endpointCredential,
} from '../domain/egress/credential.ts';
import { egressHost } from '../domain/egress/host.ts';
import { textOf } from './decide.ts';
import type { AppliedEgress } from './egress.ts';
import type { Ask } from './passage.ts';
import { EgressRefusal } from './refusal.ts';
import { type AbsoluteTarget, type HttpTarget, readAbsolute } from './target.ts';
import type { Visit } from './visit.ts';

const HTTPS_PORT = 443;
const HTTP_PORT = 80;

export interface HttpRoute {
  /** As the program names it. */
  readonly target: AbsoluteTarget;
  /** What is decided, connected to and logged. */
  readonly ask: Ask;
  /** The host for the target, canonical. */
  readonly host: string;
  readonly isTls: boolean;
  readonly credential?: EgressCredential | undefined;
}

/** Undefined for a request that names no target, or another than its tunnel. */
export function targetOf(
  { url = '', method }: IncomingMessage,
  { fixed }: Visit,
): AbsoluteTarget | undefined {
  const absolute = readAbsolute(url);
  if (!fixed) return absolute;
  if (absolute && !fixed.isTls) return isSame(absolute, fixed) ? absolute : undefined;
  const isOrigin = url.startsWith('/') || (url === '*' && method === 'OPTIONS');
  return isOrigin ? { host: fixed.host, port: fixed.port, path: url } : undefined;
}

export function isSame(a: HttpTarget, b: HttpTarget): boolean {
  const [one, other] = [egressHost(a.host), egressHost(b.host)];
  return one !== undefined && other !== undefined && textOf(one) === textOf(other) && a.port === b.port;
}

/** The route without a credential: what a refusal is about. */
export function plainRoute(
  { method = '' }: IncomingMessage,
  target: AbsoluteTarget,
  visit: Visit,
): HttpRoute {
  const { fixed, uid } = visit;
  const path = target.path.split('?', 1)[0] ?? '/';
  const { host, port } = target;
  const ask: Ask = { host, port, how: fixed?.how ?? 'http', uid, method, path };
  const read = egressHost(host);
  return { target, ask, host: read === undefined ? host : textOf(read), isTls: fixed?.isTls === true };
}

/** The route with the credential that the policy gives it. Throws a refusal. */
export function brokeredRoute(route: HttpRoute, { credentials }: AppliedEgress): HttpRoute {
  if (credentials.length === 0) return withoutCredential(route);
  const endpoint = route.target.port === HTTP_PORT ? endpointCredential(credentials, route.host) : undefined;
  if (endpoint && !route.isTls) return toEndpoint(route, endpoint);
  const read = egressHost(route.host);
  const { isTls, ask } = route;
  const possible = read ? credentialsFor(credentials, { host: read, port: ask.port, isTls }) : [];
  if (possible.length === 0) return withoutCredential(route);
  const credential = possible.find((each) => coversRequest(each, requestOf(ask)));
  if (!credential) throw new EgressRefusal('method_denied');
  return { ...route, credential, ask: { ...ask, credential: credential.name } };
}

function toEndpoint(route: HttpRoute, credential: EgressCredential): HttpRoute {
  const [first] = credential.targets;
  if (!first || !coversRequest(credential, requestOf(route.ask))) throw new EgressRefusal('method_denied');
  const { name: host, port } = first;
  const ask: Ask = { ...route.ask, host, port, how: 'endpoint', credential: credential.name };
  return { ...route, ask, host, isTls: true, credential };
}

/** TLS was ended for a credential that the policy no longer has: the program connects again. */
function withoutCredential(route: HttpRoute): HttpRoute {
  if (route.isTls) throw new EgressRefusal('policy_changed');
  return route;
}

const requestOf = ({ method = '', path = '/' }: Ask) => ({ method, path });

/** The value of the Host header for the target. */
export function hostHeader({ host, ask: { port }, isTls }: HttpRoute): string {
  const shown = host.includes(':') ? `[${host}]` : host;
  return port === (isTls ? HTTPS_PORT : HTTP_PORT) ? shown : `${shown}:${port}`;
}
