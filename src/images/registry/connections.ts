// Requests to registries and to the hosts that they name. Every address is checked for its connection; no redirect is
// followed here; heads, bodies and pauses are bounded.
import type { lookup } from 'node:dns';
import type { Clock } from '../../domain/ports.ts';
import {
  type ConnectionPool,
  type OutgoingTls,
  openConnectionPool,
} from '../../providers/outgoing/connect.ts';
import { brokenReply, connectionFault } from './faults.ts';

const IDLE_MS = 30_000;
const CONNECTIONS = 8;
const MOST_HOSTS = 32;
const DISCARDED_BYTES = 64 * 1024;

export interface Reach {
  loopbackAllowed: boolean;
  privateAllowed: boolean;
}

export interface SendOrder {
  /** The other side, as the subject of a sentence. */
  what: string;
  url: URL;
  reach: Reach;
  method?: 'GET' | 'HEAD' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

export interface Answer {
  what: string;
  status: number;
  /** Names in lower case; repeated headers are joined. */
  headers: Record<string, string>;
  body: AsyncIterable<Buffer> & { dump(options: { limit: number }): Promise<unknown> };
}

export interface ConnectionDeps {
  clock: Clock;
  /** Replaces the authorities that this process trusts. */
  tls?: OutgoingTls | undefined;
  /** Replaces the system's resolver. */
  lookup?: typeof lookup;
  /** How long a head, or the next piece of a body, may take. */
  idleMs?: number;
}

export class RegistryConnections {
  readonly #deps: ConnectionDeps;
  readonly #pools = new Map<string, ConnectionPool>();
  /** The keys are origins. */
  readonly #addresses = new Map<string, string>();

  constructor(deps: ConnectionDeps) {
    this.#deps = deps;
  }

  /** The address of the last connection to this origin; undefined before the first. */
  addressOf(origin: string): string | undefined {
    return this.#addresses.get(origin);
  }

  /** The head of any answer; its body must be read or discarded. Rejects with errors of `faults.ts`, or the signal's reason. */
  async send(order: SendOrder): Promise<Answer> {
    const { what, url, method = 'GET', headers, body, signal } = order;
    const idle = this.#deps.idleMs ?? IDLE_MS;
    signal.throwIfAborted();
    try {
      const answer = await this.#pool(order).request({
        method,
        path: `${url.pathname}${url.search}`,
        headers: { 'accept-encoding': 'identity', 'user-agent': 'svc', ...headers },
        ...(body !== undefined && { body }),
        headersTimeout: idle,
        bodyTimeout: idle,
        signal,
      });
      const flat = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
      return { what, status: answer.statusCode, headers: Object.fromEntries(flat), body: answer.body };
    } catch (error) {
      signal.throwIfAborted();
      throw connectionFault(what, error);
    }
  }

  #pool({ url, reach, what }: SendOrder): ConnectionPool {
    const key = `${url.origin} ${reach.loopbackAllowed} ${reach.privateAllowed}`;
    const known = this.#pools.get(key);
    if (known) return known;
    if (this.#pools.size >= MOST_HOSTS) throw brokenReply(what, 'leads to too many hosts');
    const onAddress = (address: string) => this.#addresses.set(url.origin, address);
    const pool = openConnectionPool(url.origin, { ...this.#deps, ...reach, what, onAddress }, CONNECTIONS);
    this.#pools.set(key, pool);
    return pool;
  }

  /** Ends all requests. */
  async close(): Promise<void> {
    for (const pool of this.#pools.values()) await pool.destroy().catch(() => undefined);
  }
}

/** Never rejects. */
export async function discard(answer: Answer): Promise<void> {
  await answer.body.dump({ limit: DISCARDED_BYTES }).catch(() => undefined);
}

/** The body in pieces. Rejects with `provider_error` after `most` bytes, and as `send` does. */
export async function* bodyOf(answer: Answer, most: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  if (!/^identity$/i.test(answer.headers['content-encoding'] ?? 'identity'))
    throw brokenReply(answer.what, 'answered with an encoding that was not requested');
  let size = 0;
  try {
    for await (const piece of answer.body) {
      size += piece.length;
      if (size > most) throw brokenReply(answer.what, 'sent more than it announced or than is allowed');
      yield piece;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw connectionFault(answer.what, error);
  }
}

/** The complete body of a document. */
export async function bytesOf(answer: Answer, most: number, signal: AbortSignal): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bodyOf(answer, most, signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}
