// Opens connections to configured URLs. The address is checked between the look-up and the connection: a name that was
// harmless when it was configured, or a moment ago, may resolve to another address now.
import { lookup } from 'node:dns';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import { addressFault } from '../../domain/outgoing-address.ts';
import { markUnopened, refusedAddress } from './faults.ts';

const CONNECT_MS = 10_000;

/** PEM texts: the trusted authorities, and our own certificate and key. */
export interface OutgoingTls {
  ca?: string;
  cert?: string;
  key?: string;
}

export interface ConnectOptions {
  /** The other side, as the subject of a sentence. */
  what: string;
  loopbackAllowed: boolean;
  /** True unless given: addresses of private networks may be reached. */
  privateAllowed?: boolean;
  tls?: OutgoingTls | undefined;
  /** Replaces the system's resolver. */
  lookup?: typeof lookup;
  /** Called with the address of each connection. */
  onAddress?: ((address: string) => void) | undefined;
}

/** A connector for undici that checks addresses. */
function guardedConnector(reach: ConnectOptions, build: typeof buildConnector): buildConnector.connector {
  const connect = build({ ...reach.tls, timeout: CONNECT_MS, lookup: guardedLookup(reach) });
  return (options, callback) => {
    const fault = isIP(options.hostname) === 0 ? undefined : judged(reach, options.hostname);
    if (fault) return void callback(fault, null);
    connect(options, (...opened) => {
      if (opened[0]) markUnopened(opened[0]);
      else reach.onAddress?.(opened[1].remoteAddress ?? '');
      callback(...opened);
    });
  };
}

/** A look-up that returns allowed addresses only. Literal addresses are never looked up; the connector checks them. */
function guardedLookup(reach: ConnectOptions): LookupFunction {
  return (hostname, options, callback) => {
    (reach.lookup ?? lookup)(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '');
      const allowed = found.filter(({ address }) => judged(reach, address) === undefined);
      const [first] = allowed;
      if (!first) return callback(judged(reach, found[0]?.address ?? '') ?? null, '');
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function judged({ what, loopbackAllowed, privateAllowed }: ConnectOptions, address: string) {
  const fault = addressFault(address, loopbackAllowed, privateAllowed);
  return fault && refusedAddress(what, fault);
}

const MAX_HEADER_BYTES = 16 * 1024;

export type ConnectionPool = Pick<Dispatcher, 'destroy' | 'dispatch' | 'request'>;

/** Not `import()`, which caches a failure (a lack of descriptors, for example) for the life of the process. */
const require = createRequire(import.meta.url);

/** Loads undici with the first request: a server without workers and backends saves its 11 MB of memory. */
export function openConnectionPool(
  origin: string,
  reach: ConnectOptions,
  connections: number,
): ConnectionPool {
  const { Pool, buildConnector } = require('undici') as typeof import('undici');
  const connect = guardedConnector(reach, buildConnector);
  return new Pool(origin, { connect, connections, maxHeaderSize: MAX_HEADER_BYTES });
}
