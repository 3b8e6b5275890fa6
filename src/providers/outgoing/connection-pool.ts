// Connections to one configured origin. undici is loaded with the first request: a server without workers and backends
// saves its 11 MB of memory.
import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';
import { type ConnectOptions, guardedConnector } from './connect.ts';

const MAX_HEADER_BYTES = 16 * 1024;

export type ConnectionPool = Pick<Dispatcher, 'destroy' | 'request'>;

/** Not `import()`, which caches a failure (a lack of descriptors, for example) for the life of the process. */
const require = createRequire(import.meta.url);

export function openConnectionPool(
  origin: string,
  reach: ConnectOptions,
  connections: number,
): ConnectionPool {
  const { Pool, buildConnector } = require('undici') as typeof import('undici');
  const connect = guardedConnector(reach, buildConnector);
  return new Pool(origin, { connect, connections, maxHeaderSize: MAX_HEADER_BYTES });
}
