// The requests of a pull to one registry or mirror. OCI distribution specification 1.1

import type { ServiceError } from '../../domain/errors.ts';
import { isLoopbackHost } from '../../domain/loopback.ts';
import { addressFault } from '../../domain/outgoing-address.ts';
import type { Clock } from '../../domain/ports.ts';
import { type Endpoint, namesHost, type RegistrySettings } from './allowed.ts';
import { Authorization } from './authorization.ts';
import { type Answer, discard, type Reach, type RegistryConnections } from './connections.ts';
import type { CredentialFile } from './credentials.ts';
import { brokenReply, noSuchImage, rateLimited, speaksNoTls, unavailable } from './faults.ts';

const MOST_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];

export interface ClientDeps {
  clock: Clock;
  connections: RegistryConnections;
  settings: RegistrySettings;
  credentials: CredentialFile;
  endpoint: Endpoint;
  /** The repository. */
  path: string;
  /** Complete name, for messages. */
  image: string;
}

interface Ask {
  method?: 'GET' | 'HEAD';
  headers?: Record<string, string>;
  signal: AbortSignal;
}

export class RegistryClient {
  readonly #deps: ClientDeps;
  readonly #authorization: Authorization;
  #base: Promise<URL> | undefined;

  constructor(deps: ClientDeps) {
    this.#deps = deps;
    const { clock, connections, credentials, endpoint, path, image } = deps;
    this.#authorization = new Authorization({
      clock,
      connections,
      endpoint,
      image,
      credentials: credentials.find(endpoint.host, path),
      hasHelper: credentials.namesHelper(endpoint.host),
      scope: `repository:${path}:pull`,
      reach: (url) => this.#foreignReach(url),
    });
  }

  get what(): string {
    return this.#deps.endpoint.what;
  }

  /** Whether it shows credentials where it is asked for them. */
  get hasCredentials(): boolean {
    const { credentials, endpoint, path } = this.#deps;
    return credentials.find(endpoint.host, path) !== undefined;
  }

  /** A 200. Throws `not_found`, `forbidden`, `resource_limit`, `unavailable`, `provider_error`. Redirects are refused. */
  async manifest(reference: string, { method = 'GET', headers = {}, signal }: Ask): Promise<Answer> {
    const url = await this.#url(`manifests/${reference}`, signal);
    const answer = await this.#authorized(url, { method, headers, signal }, (ask) => this.#send(url, ask));
    if (answer.status === 200) return answer;
    throw await this.#failure(answer);
  }

  /** The head of a blob's answer with status 200, 206 or 416. Redirects are followed. Throws as `manifest` does. */
  async blob(digest: string, from: number, signal: AbortSignal): Promise<Answer> {
    const url = await this.#url(`blobs/${digest}`, signal);
    const headers = from > 0 ? { range: `bytes=${from}-` } : {};
    const answer = await this.#authorized(url, { headers, signal }, (ask) => this.#followed(url, ask));
    if (answer.status === 200 || (from > 0 && (answer.status === 206 || answer.status === 416)))
      return answer;
    throw await this.#failure(answer);
  }

  async #url(rest: string, signal: AbortSignal): Promise<URL> {
    this.#base ??= this.#ping(signal);
    return new URL(`${this.#deps.path}/${rest}`, await this.#base);
  }

  /** Finds the base that answers. Plain HTTP is tried where the endpoint allows it, and the host does not speak TLS. */
  async #ping(signal: AbortSignal): Promise<URL> {
    const [first, second] = this.#deps.endpoint.bases;
    const answer = await this.#send(topOf(first), { signal }).catch((error: unknown) => {
      if (second === undefined || !speaksNoTls(error)) throw error;
      return undefined;
    });
    if (answer) return this.#checkPing(first, answer);
    return this.#checkPing(second as URL, await this.#send(topOf(second as URL), { signal }));
  }

  async #checkPing(base: URL, answer: Answer): Promise<URL> {
    await discard(answer);
    if ([200, 401, 403].includes(answer.status)) return base;
    throw statusFailure(this.what, answer, this.#deps.clock.now());
  }

  /** Sends, and again after each of at most two challenges: a known token may have expired. */
  async #authorized(url: URL, ask: Ask, send: (ask: Ask) => Promise<Answer>): Promise<Answer> {
    for (let challenges = 0; ; challenges++) {
      const sent = this.#authorization.header;
      const headers = { ...ask.headers, ...(sent !== undefined && { authorization: sent }) };
      const answer = await send({ ...ask, headers });
      if (answer.status !== 401) return answer;
      await discard(answer);
      if (challenges === 2 || isForeign(answer)) throw this.#authorization.refused();
      await this.#authorization.renew(answer.headers['www-authenticate'], url, sent, ask.signal);
    }
  }

  #send(url: URL, ask: Ask, reach: Reach = this.#deps.endpoint): Promise<Answer> {
    const { connections, endpoint } = this.#deps;
    const { loopbackAllowed, privateAllowed } = reach;
    return connections.send({ ...ask, what: endpoint.what, url, reach: { loopbackAllowed, privateAllowed } });
  }

  /** Credentials stay behind at the first other host. */
  async #followed(start: URL, ask: Ask): Promise<Answer> {
    let url = start;
    let answer = await this.#send(url, ask);
    const { authorization: _, ...bare } = ask.headers ?? {};
    let isHome = true;
    for (let hops = 0; REDIRECTS.includes(answer.status); hops++) {
      await discard(answer);
      if (hops === MOST_REDIRECTS) throw brokenReply(this.what, 'redirects too often');
      url = this.#target(url, answer.headers.location);
      isHome &&= url.origin === start.origin;
      const reach = isHome ? this.#deps.endpoint : this.#foreignReach(url);
      answer = await this.#send(url, isHome ? ask : { ...ask, headers: bare }, reach);
    }
    if (!isHome) FOREIGN.add(answer);
    return answer;
  }

  #target(from: URL, location: string | undefined): URL {
    const isUrl = location !== undefined && URL.canParse(location, from.href);
    const url = isUrl ? new URL(location, from.href) : undefined;
    if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
      throw brokenReply(this.what, 'redirects to an invalid URL');
    if (url.protocol === 'http:' && from.protocol === 'https:')
      throw brokenReply(this.what, 'redirects from https to http, which is not followed');
    return url;
  }

  /** Other hosts may be in private networks where the registry itself is, and on this machine where the operator names them. */
  #foreignReach(url: URL): Reach {
    const { connections, settings, endpoint } = this.#deps;
    const ownAddresses = endpoint.bases.map((base) => base && connections.addressOf(base.origin));
    const isPrivate = ownAddresses.some(
      (address) => address !== undefined && addressFault(address, false, false) !== undefined,
    );
    const isOwn = endpoint.bases.some((base) => base?.host === url.host);
    const loopbackAllowed = isLoopbackHost(url.hostname) && (isOwn || namesHost(settings, url));
    return { loopbackAllowed: endpoint.loopbackAllowed && loopbackAllowed, privateAllowed: isPrivate };
  }

  async #failure(answer: Answer): Promise<Error> {
    await discard(answer);
    if (answer.status === 403 && !isForeign(answer)) return this.#authorization.refused();
    if (answer.status === 404 && !isForeign(answer)) return noSuchImage(this.what, this.#deps.image);
    return statusFailure(this.what, answer, this.#deps.clock.now());
  }
}

/** The first client that answers, which comes first afterwards. The failure of the last one counts: the registry itself. */
export async function firstOf<T>(
  clients: readonly RegistryClient[],
  signal: AbortSignal,
  ask: (client: RegistryClient) => Promise<T>,
): Promise<[T, readonly RegistryClient[]]> {
  let failure: unknown;
  for (const [at, client] of clients.entries()) {
    try {
      return [await ask(client), clients.slice(at)];
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/** Mirrors may have images below a path. */
const topOf = (base: URL) => new URL('/v2/', base);

/** Answers of hosts that a registry redirected to. */
const FOREIGN = new WeakSet<Answer>();
const isForeign = (answer: Answer) => FOREIGN.has(answer);

function statusFailure(what: string, { status, headers }: Answer, now: number): ServiceError {
  if (status === 429) return rateLimited(what, headers['retry-after'], now);
  if (status >= 500) return unavailable(what, `answered with status ${status}`);
  if (REDIRECTS.includes(status)) return brokenReply(what, 'answered with a redirect that is not followed');
  return brokenReply(what, `answered with status ${status}`);
}
