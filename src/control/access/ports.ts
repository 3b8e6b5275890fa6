// Ports on which programs of a sandbox listen, read from the tables of its kernel.
import type { SandboxIo } from '../../agent/io.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { type Listener, listenersOf } from '../../domain/listening.ts';
import type { ListeningPort } from '../../schema/preview.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { SandboxAccess } from './session-access.ts';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** The most that is read of a table; an entry has 150. */
const MOST_BYTES = 1024 * 1024;
const MOST_LISTENERS = 4096;
const MOST_PORTS = 1000;

/** Returns ports sorted by number. A tenant of a pool sees its own. Throws `not_implemented` where there are no tables. */
export async function listeningPorts(
  access: Pick<SandboxAccess, 'use'>,
  row: SandboxRecord,
  signal: AbortSignal,
): Promise<ListeningPort[]> {
  const tables = await access.use(row, signal, ({ files }) =>
    Promise.all(TABLES.map((path) => tableAt(files, path, signal))),
  );
  if (tables.every((table) => table === undefined)) throw noTables();
  const all = tables.flatMap((table) => (table === undefined ? [] : listenersOf(table, MOST_LISTENERS)));
  return byPort(row.uid === undefined ? all : all.filter(({ uid }) => uid === row.uid));
}

/** Undefined where there is none: a kernel may have no IPv6. */
async function tableAt(
  files: SandboxIo['files'],
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { content } = await files.read(path, { offset: 0, length: MOST_BYTES }, signal);
    return Buffer.concat((await content.toArray()) as Buffer[]).toString('latin1');
  } catch (error) {
    if (['not_found', 'forbidden', 'bad_request'].includes(asServiceError(error).code)) return undefined;
    throw error;
  }
}

function byPort(listeners: readonly Listener[]): ListeningPort[] {
  const ports = new Map<number, Set<string>>();
  for (const { port, address } of listeners) {
    const addresses = ports.get(port) ?? new Set();
    ports.set(port, addresses.add(address));
  }
  return [...ports]
    .sort(([a], [b]) => a - b)
    .slice(0, MOST_PORTS)
    .map(([port, addresses]) => ({ port, addresses: [...addresses].sort() }));
}

function noTables(): ServiceError {
  return new ServiceError(
    'not_implemented',
    'This sandbox does not tell on which ports its programs listen.',
    {
      remedy: 'Make a link to a port that you know.',
    },
  );
}
