// Proves to a registry who pulls: by basic authentication, or by a token of the service that the registry names. Credentials
// go to the registry, and to that service over https. Distribution specification, "token authentication"
import { Buffer } from 'node:buffer';
import type { Clock } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { Endpoint } from './allowed.ts';
import { bytesOf, discard, type Reach, type RegistryConnections } from './connections.ts';
import type { Credentials } from './credentials.ts';
import { brokenReply, pullTimedOut, rateLimited, refusedByRegistry, unavailable } from './faults.ts';

const MOST_BYTES = 1024 * 1024;
const MOST_TOKEN = 12 * 1024;
const MOST_CHALLENGE = 8 * 1024;
const TOKEN_MS = 60_000;
const MARGIN_MS = 10_000;
const LEAST_MS = 60_000;

export interface Challenge {
  scheme: 'basic' | 'bearer';
  realm: string;
  service: string;
  scope: string;
}

/** Starts only at the beginning of a word: otherwise one long word takes a second. */
const CHALLENGE_PART = /(?<![a-z])(?:([a-z]+)\s*=\s*(?:"([^"]*)"|([^\s",]+))|(basic|bearer)(?=\s|,|$))/gi;

/** The challenge that svc can answer, tokens preferred. RFC 9110, 11.6.1 */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  if (header === undefined || header.length > MOST_CHALLENGE) return undefined;
  const found: Challenge[] = [];
  const parts = header.matchAll(CHALLENGE_PART);
  for (const [, name, quoted, plain, scheme] of parts) {
    if (scheme !== undefined) found.push({ ...NO_CHALLENGE, scheme: scheme.toLowerCase() as 'basic' });
    const last = found.at(-1);
    const key = name?.toLowerCase();
    if (last && (key === 'realm' || key === 'service' || key === 'scope')) last[key] = quoted ?? plain ?? '';
  }
  return found.find(({ scheme }) => scheme === 'bearer') ?? found[0];
}

const NO_CHALLENGE = { realm: '', service: '', scope: '' };

export interface AuthorizationDeps {
  clock: Clock;
  connections: RegistryConnections;
  endpoint: Endpoint;
  credentials: Credentials | undefined;
  hasHelper: boolean;
  /** The image, for messages. */
  image: string;
  /** The scope where the registry names none. */
  scope: string;
  /** How hosts that the registry names may be reached. */
  reach(url: URL): Reach;
}

/** One for each registry and pull. */
export class Authorization {
  readonly #deps: AuthorizationDeps;
  #header: string | undefined;
  #expires = Number.POSITIVE_INFINITY;
  #renewal: Promise<void> | undefined;

  constructor(deps: AuthorizationDeps) {
    this.#deps = deps;
  }

  /** What to send to the registry; undefined before it has asked, and when the token is about to expire. */
  get header(): string | undefined {
    return this.#deps.clock.monotonic() < this.#expires ? this.#header : undefined;
  }

  /**
   * Answers a challenge to a request that was sent with `sent`. Requests that are challenged at the same time share the
   * answer. Throws `forbidden` when there is no other answer, and errors of the token service.
   */
  async renew(
    header: string | undefined,
    base: URL,
    sent: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.header !== undefined && this.header !== sent) return;
    this.#renewal ??= this.#answer(parseChallenge(header), base, sent, signal).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #answer(
    challenge: Challenge | undefined,
    base: URL,
    sent: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { credentials, endpoint } = this.#deps;
    if (challenge?.scheme === 'bearer') return this.#fetchToken(challenge, base, signal);
    if (challenge === undefined)
      throw brokenReply(endpoint.what, 'demands a kind of authentication that svc does not know');
    if (credentials === undefined || 'identityToken' in credentials) throw this.refused();
    const basic = basicHeader(credentials);
    if (sent === basic) throw this.refused();
    this.#header = basic;
    this.#expires = Number.POSITIVE_INFINITY;
  }

  refused(): Error {
    const { endpoint, image, hasHelper } = this.#deps;
    return refusedByRegistry(endpoint.what, image, hasHelper);
  }

  async #fetchToken(challenge: Challenge, base: URL, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const url = this.#realm(challenge, base);
    const timeout = { clock, ms: TOKEN_MS, error: pullTimedOut, signal };
    const { token, lifeMs } = await withTimeout(timeout, (until) => this.#token(url, challenge, until));
    this.#header = `Bearer ${token}`;
    this.#expires = clock.monotonic() + lifeMs - MARGIN_MS;
  }

  /** An insecure registry may name a service that is as insecure, on its own host alone. */
  #realm({ realm }: Challenge, base: URL): URL {
    const { what } = this.#deps.endpoint;
    if (!URL.canParse(realm)) throw brokenReply(what, 'names a token service that is not a valid URL');
    const url = new URL(realm);
    if (url.username !== '' || url.password !== '')
      throw brokenReply(what, 'names a token service that is not a valid URL');
    const isOwn = url.hostname === base.hostname && base.protocol === 'http:' && url.protocol === 'http:';
    if (url.protocol === 'https:' || isOwn) return url;
    throw brokenReply(what, 'names a token service without https, which gets no credentials');
  }

  async #token(url: URL, { service, scope }: Challenge, signal: AbortSignal): Promise<Token> {
    const { connections, credentials, reach } = this.#deps;
    const what = `The token service ${url.host}`;
    const wanted = { service, scope: scope === '' ? this.#deps.scope : scope };
    const order = { what, url, reach: reach(url), signal };
    const answer = await connections.send(
      credentials && 'identityToken' in credentials
        ? { ...order, ...refreshForm(wanted, credentials.identityToken) }
        : { ...order, ...tokenQuery(url, wanted, credentials) },
    );
    if (answer.status === 200) return tokenOf(what, await bytesOf(answer, MOST_BYTES, signal));
    await discard(answer);
    if (answer.status === 401 || answer.status === 403 || answer.status === 400) throw this.refused();
    if (answer.status === 429) throw rateLimited(what, answer.headers['retry-after'], this.#deps.clock.now());
    if (answer.status >= 500) throw unavailable(what, `answered with status ${answer.status}`);
    throw brokenReply(what, `answered with status ${answer.status}`);
  }
}

interface Token {
  token: string;
  lifeMs: number;
}

const basicHeader = ({ username, password }: { username: string; password: string }) =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

function tokenQuery(
  realm: URL,
  { service, scope }: { service: string; scope: string },
  credentials: { username: string; password: string } | undefined,
) {
  const url = new URL(realm);
  if (service !== '') url.searchParams.set('service', service);
  url.searchParams.append('scope', scope);
  return { url, headers: credentials ? { authorization: basicHeader(credentials) } : {} };
}

/** RFC 6749, 6. */
function refreshForm(wanted: { service: string; scope: string }, identityToken: string) {
  const form = { ...wanted, grant_type: 'refresh_token', client_id: 'svc', refresh_token: identityToken };
  return {
    method: 'POST' as const,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  };
}

function tokenOf(what: string, bytes: Buffer): Token {
  const { token, access_token, expires_in } = fieldsIn(bytes);
  const text = token ?? access_token;
  if (typeof text !== 'string' || text.length > MOST_TOKEN || !/^[\x21-\x7e]+$/.test(text))
    throw brokenReply(what, 'did not send a token');
  const seconds = typeof expires_in === 'number' && Number.isFinite(expires_in) ? expires_in : 0;
  return { token: text, lifeMs: Math.max(LEAST_MS, seconds * 1000) };
}

function fieldsIn(bytes: Buffer): Record<string, unknown> {
  try {
    return (JSON.parse(bytes.toString('utf8')) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}
