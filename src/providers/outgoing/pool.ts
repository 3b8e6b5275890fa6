// Connections to one configured origin. In a file of its own, read when somebody first asks: undici is 11 MB of memory that a
// server without workers and backends does without.
import { type Dispatcher, Pool } from 'undici';
import { guardedConnector, type Reach } from './connect.ts';

const MAX_HEADER_BYTES = 16 * 1024;

export type Connections = Pick<Dispatcher, 'destroy' | 'request'>;

export function openPool(origin: string, reach: Reach, connections: number): Connections {
  return new Pool(origin, {
    ...{ connect: guardedConnector(reach), connections, maxHeaderSize: MAX_HEADER_BYTES },
  });
}
