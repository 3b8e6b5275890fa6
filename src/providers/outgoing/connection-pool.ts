// Connections to one configured origin. undici is read when somebody first asks: it is 11 MB of memory that a server without
// workers and backends does without.
import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';
import { type ConnectOptions, guardedConnector } from './connect.ts';

const MAX_HEADER_BYTES = 16 * 1024;

export type ConnectionPool = Pick<Dispatcher, 'destroy' | 'request'>;

/** Not `import()`: that keeps a failure, as for want of descriptors, for as long as the process lives. */
const require = createRequire(import.meta.url);

export function openConnectionPool(
  origin: string,
  reach: ConnectOptions,
  connections: number,
): ConnectionPool {
  const { Pool, buildConnector } = require('undici') as typeof import('undici');
  return new Pool(origin, {
    ...{ connect: guardedConnector(reach, buildConnector), connections, maxHeaderSize: MAX_HEADER_BYTES },
  });
}
