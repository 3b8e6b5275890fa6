// Cross-origin rules (docs/design/api.md#cors). They come before authentication: a browser sends no key with a
// preflight.
// Credentials are never allowed; keys travel in headers that the page must hold itself.
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';

const EXPOSED =
  'X-Request-ID, X-Next-Cursor, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, ETag, Accept-Ranges, Content-Range';
const ALLOWED_HEADERS =
  'Content-Type, X-API-Key, X-Admin-API-Key, X-User-ID, X-Request-ID, Idempotency-Key, If-Match, Last-Event-ID, Range';
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, DELETE';
const PREFLIGHT_SECONDS = '600';
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

type Headers = Readonly<Record<string, string>>;

export interface Cors {
  /** Headers to put on the answer to a request. */
  answerHeaders(headers: IncomingHttpHeaders): Headers | undefined;
  /** Headers of the 204 to a preflight. Throws `forbidden` for an origin that is neither listed nor our own. */
  preflightHeaders(headers: IncomingHttpHeaders): Headers;
  /** Throws `forbidden` when a page of another origin asks for a WebSocket: browsers send no preflight for those. */
  checkUpgrade(headers: IncomingHttpHeaders): void;
  /**
   * Throws `forbidden` when a page of another origin would change something: browsers send plain requests without asking
   * first, and a server without authentication would carry them out. Fetch standard, `no-cors`; RFC 9110 9.2.1.
   */
  checkChange(method: string | undefined, headers: IncomingHttpHeaders): void;
}

/** A request with which a browser asks whether it may send another. */
export function isPreflight(method: string | undefined, headers: IncomingHttpHeaders): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  );
}

export function cors(allowedOrigins: readonly string[]): Cors {
  const any = allowedOrigins.includes('*');
  const listed = new Set(allowedOrigins.map(normalOrigin));
  /** The value of Access-Control-Allow-Origin, when there is to be one. */
  const allow = (origin: string | undefined): string | undefined => {
    if (origin === undefined) return undefined;
    if (any) return '*';
    return listed.has(normalOrigin(origin)) ? origin : undefined;
  };
  const isForeign = ({ origin, host }: IncomingHttpHeaders) =>
    origin !== undefined && allow(origin) === undefined && !isOwn(origin, host);
  // What is answered depends on Origin, also when this request has none or an unlisted one.
  const vary: Headers | undefined = any || listed.size === 0 ? undefined : { Vary: 'Origin' };
  return {
    answerHeaders({ origin }) {
      const allowed = allow(origin);
      if (allowed === undefined) return vary;
      return { ...vary, 'Access-Control-Allow-Origin': allowed, 'Access-Control-Expose-Headers': EXPOSED };
    },
    preflightHeaders({ origin, host }) {
      const allowed = allow(origin);
      if (allowed !== undefined) return { ...vary, 'Access-Control-Allow-Origin': allowed, ...PREFLIGHT };
      if (isOwn(origin, host)) return { ...vary };
      throw notAllowed();
    },
    checkUpgrade(headers) {
      if (isForeign(headers)) throw notAllowed();
    },
    checkChange(method, headers) {
      if (SAFE_METHODS.has(method ?? '')) return;
      const hidesOrigin = headers.origin === undefined && headers['sec-fetch-site'] === 'cross-site';
      if (isForeign(headers) || (hidesOrigin && !any)) throw notAllowed();
    },
  };
}

const PREFLIGHT: Headers = {
  'Access-Control-Allow-Methods': ALLOWED_METHODS,
  'Access-Control-Allow-Headers': ALLOWED_HEADERS,
  'Access-Control-Max-Age': PREFLIGHT_SECONDS,
};

function notAllowed(): ServiceError {
  return new ServiceError('forbidden', 'This origin is not allowed to call the service.', {
    remedy: 'Add the origin to server.cors_allowed_origins.',
  });
}

/** Scheme and host compare without regard to case; a listed origin may carry a slash. */
function normalOrigin(origin: string): string {
  return origin.toLowerCase().replace(/\/$/, '');
}

function isOwn(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
