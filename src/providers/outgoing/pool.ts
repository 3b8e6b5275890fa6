// Connections to one configured origin. undici is read when somebody first asks: it is 11 MB of memory that a server without
// workers and backends does without.
import { createRequire } from 'node:module';
import type { Dispatcher } from 'undici';
import { guardedConnector, type Reach } from './connect.ts';

const MAX_HEADER_BYTES = 16 * 1024;

export type Connections = Pick<Dispatcher, 'destroy' | 'request'>;

/** Not `import()`: that keeps a failure, as for want of descriptors, for as long as the process lives. */
const require = createRequire(import.meta.url);

export function openPool(origin: string, reach: Reach, connections: number): Connections {
  const { Pool, buildConnector } = require('undici') as typeof import('undici');
  return new Pool(origin, {
    ...{ connect: guardedConnector(reach, buildConnector), connections, maxHeaderSize: MAX_HEADER_BYTES },
  });
}
