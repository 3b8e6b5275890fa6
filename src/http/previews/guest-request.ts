// The head that a program in a sandbox gets of a request. It is a stranger: nothing of ours goes in (keys, cookie, names of
// owners), and what it learns about the visitor's route is what we know, not what somebody claimed.
import type { IncomingMessage } from 'node:http';
import { endToEnd, type Header, valuesOf } from '../../domain/header-lists.ts';
import { PORT_HEADER } from '../../domain/preview.ts';
import { hasBody } from '../body/body.ts';
import { withoutOurCookies } from './cookies.ts';

/** How the visitor reached us, as far as it can be trusted. */
export interface ClientRoute {
  request_id: string;
  scheme: 'http' | 'https';
  /** What the guest sees as Host; by default the visitor's. */
  host?: string | undefined;
  /** Value of X-Forwarded-For. */
  forwarded_for: string;
}

/** Headers that are set by the proxy or removed for the guest; the names of keys are removed whatever they hold. */
const OURS = new Set([
  'host',
  'content-length',
  'expect',
  'forwarded',
  'x-real-ip',
  'x-request-id',
  'x-api-key',
  'x-admin-api-key',
  'x-user-id',
  PORT_HEADER,
  'x-worker-id',
  'x-worker-token',
  'e2b-traffic-access-token',
]);
const KEY_PROTOCOLS = /^svc\.(?:key|user)\./;

/** A flat list for `http.request`: the body is framed again, so that the guest sees its end where the proxy saw it. */
export function guestHeaders(raw: IncomingMessage, route: ClientRoute, isUpgrade: boolean): string[] {
  const host = raw.headers.host ?? '';
  const head = ['Host', route.host ?? host];
  for (const header of endToEnd(raw.rawHeaders)) {
    const value = valueFor(header);
    if (value !== undefined) head.push(header.name, value);
  }
  head.push('X-Forwarded-For', route.forwarded_for);
  head.push('X-Forwarded-Host', host, 'X-Forwarded-Proto', route.scheme, 'X-Request-ID', route.request_id);
  return head.concat(framing(raw), isUpgrade ? UPGRADE : STAY);
}

/**
 * Each request has a connection of its own, so that no request meets the rest of another. The guest is not
 * asked to close: a guest that answers before it has read a body would close at once, and the response would be lost
 * with the connection.
 */
const STAY = ['Connection', 'keep-alive'];
const UPGRADE = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];

function valueFor({ plain, value }: Header): string | undefined {
  if (OURS.has(plain) || plain.startsWith('x-forwarded-')) return undefined;
  if (plain === 'cookie') return withoutOurCookies(value);
  if (plain === 'sec-websocket-protocol') return withoutKeys(value);
  return value;
}

function withoutKeys(offered: string): string | undefined {
  const names = offered.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '' && !KEY_PROTOCOLS.test(name)).join(', ') || undefined;
}

function framing({ headers, rawHeaders, method }: IncomingMessage): string[] {
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  const length = valuesOf(rawHeaders, 'content-length')[0];
  if (length !== undefined) return ['Content-Length', length];
  const needsLength = !hasBody(headers) && (method === 'POST' || method === 'PUT' || method === 'PATCH');
  return needsLength ? ['Content-Length', '0'] : [];
}
