// Opens the database for a server: lock, read-only checks, settings, migrations. Afterwards this connection only reads.
// The writer has its own: a durable one for records, a relaxed one for buffered events
// (docs/design/reliability.md#storage).
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids, Logger, Random } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import { allRoles, noSignals, singleReplica } from '../single-replica.ts';
import { type CommitSpeed, SLOW_COMMIT_MS, type Store } from '../store.ts';
import { Acknowledged } from './acknowledged.ts';
import { Condition } from './condition.ts';
import { configure, type Synchronous } from './connection.ts';
import { eventIds } from './event-ids.ts';
import { readingExecutor, retryWhileBusy } from './executor.ts';
import { storeFailure } from './failures.ts';
import { settlePath, settleRights, stoppedUncleanly } from './file.ts';
import { refuseMissingFile } from './file-identity.ts';
import { loadInstance } from './instance.ts';
import { Lane } from './lane.ts';
import { acquireLock, type DatabaseLock } from './lock.ts';
import { keepLoss, readLoss } from './loss-record.ts';
import { checkIdentity, migrate } from './migrate.ts';
import { checkInBackground, checkNow, isCheckedNow } from './page-check.ts';
import { routedTables } from './routed-tables.ts';
import { RowCache } from './row-cache.ts';
import Sqlite from './sqlite.ts';
import { storeTables } from './tables.ts';
import { threadLink } from './thread-link.ts';
import type { LaneName } from './wire.ts';
import { inlineLink, type WriterLink } from './writer-link.ts';

export interface SqliteOptions {
  path: string;
  /** The level for records; events are written with `normal`. */
  synchronous: Synchronous;
  /** The program of the writer thread (app/store-thread.ts). Without it, writes block the caller's thread. */
  thread?: string | undefined;
  clock: Clock;
  random: Random;
  ids: Ids;
  logger: Logger;
}

export interface SqliteStore extends Store {
  /** Puts the server's address into the error that a second server gets. */
  announce(address: string): void;
  /** Resolves if the writer thread ends unexpectedly. Reads continue; the server should restart. */
  lost: Promise<Error>;
}

/**
 * Opens or creates the store in the file at `path` and holds it exclusively until `close`. Throws `conflict` (in use,
 * of another program, of a newer version), `internal` (damaged, not a database), `unavailable` (rights, I/O, held
 * open). A refused file is not changed.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const opened = new OpenResources();
  try {
    const path = settlePath(options.path);
    opened.lock = acquireLock(path, new Date(options.clock.now()).toISOString());
    return await build({ ...options, path }, opened);
  } catch (error) {
    await opened.close();
    throw openFailure(error);
  }
}

/** The resources that must be closed in any case. */
class OpenResources {
  lock: DatabaseLock | undefined;
  link: WriterLink | undefined;
  acknowledged: Acknowledged | undefined;
  /** True if every page was checked before serving. */
  isChecked = false;
  readonly closing = new AbortController();
  readonly connections: Database[] = [];

  connect(path: string): Database {
    const db = new Sqlite(path, { timeout: 0 });
    this.connections.push(db);
    return db;
  }

  /** Closes the writer last: the last close checkpoints the log, which takes as long as the disk does. */
  async close(): Promise<void> {
    this.closing.abort();
    for (const db of this.connections.splice(0).reverse()) db.close();
    await this.link?.close();
    this.acknowledged?.close();
    this.lock?.release();
  }
}

async function build(options: SqliteOptions, opened: OpenResources): Promise<SqliteStore> {
  const { path, clock, synchronous, thread, logger } = options;
  // The program loads while the file is checked.
  const link = thread === undefined ? inlineLink(options) : threadLink(thread);
  opened.link = link;
  const condition = new Condition(path, logger);
  const reader = await openChecked(options, opened);
  const instance = loadInstance(reader, options);
  reader.pragma('query_only = ON');
  await link.open({ of: 'server', path, synchronous });
  const work = readingExecutor(clock, () => reader.open);
  const cache = new RowCache();
  const here = storeTables({ durable: reader, relaxed: reader, ids: eventIds(reader), work, cache });
  const lane = (name: LaneName) => new Lane({ name, clock, send: (request) => link.send(request) });
  const lanes = { durable: lane('durable'), relaxed: lane('relaxed'), read: lane('read') };
  const alive = reader.prepare('SELECT id FROM instance');
  logger.info({ instance: instance.id }, 'The database is open.');
  const { signal } = opened.closing;
  condition.confirm = () => void checkInBackground({ path, condition, clock, logger, signal });
  if (!opened.isChecked) condition.confirm();
  return condition.watching({
    instance,
    condition: () => condition.get(),
    ...routedTables({ lanes, here, cache }),
    replicas: singleReplica,
    roles: allRoles,
    signals: noSignals,
    ping: createPing({ clock, lanes, alive: () => work.run(() => void alive.get()) }),
    announce: (address) => opened.lock?.announce(address),
    lost: link.lost,
    close: async () => {
      for (const one of Object.values(lanes)) one.close();
      await opened.close();
    },
  });
}

async function openChecked(options: SqliteOptions, opened: OpenResources): Promise<Database> {
  const { path, clock, logger } = options;
  refuseMissingFile(path);
  settleRights(path);
  await opened.lock?.holdFile();
  if (stoppedUncleanly(path)) logger.warn({}, 'Unclean shutdown detected; checking the database.');
  const durable = opened.connect(path);
  await retryWhileBusy(clock, () => checkIdentity(durable));
  opened.acknowledged = new Acknowledged(path);
  noticeLoss(options, opened.acknowledged);
  opened.isChecked = isCheckedNow(path);
  if (opened.isChecked) await retryWhileBusy(clock, () => checkNow(durable));
  await retryWhileBusy(clock, () => configure(durable, options.synchronous));
  await retryWhileBusy(clock, () => migrate(durable));
  return durable;
}

/** Records the loss beside the database until it is accepted. */
function noticeLoss({ path, clock, logger }: SqliteOptions, acknowledged: Acknowledged): void {
  const log = acknowledged.missing();
  if (log) keepLoss(path, { found_at: new Date(clock.now()).toISOString(), log });
  const loss = readLoss(path);
  if (loss)
    logger.error(
      { err: loss },
      'Acknowledged writes are missing; health fails until an operator accepts the loss.',
    );
}

const FILE_ERRORS = [
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'EISDIR',
  'ENOENT',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOSPC',
];

function openFailure(error: unknown): ServiceError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (error instanceof ServiceError || !FILE_ERRORS.includes(code)) return storeFailure(error);
  return new ServiceError('unavailable', `The database file cannot be made or opened (${code}).`, {
    cause: error,
    remedy: 'Check database.path, and the owner and rights of its folder.',
  });
}

interface PingDeps {
  clock: Clock;
  lanes: Record<LaneName, Lane>;
  /** A read on the caller's thread. */
  alive(): Promise<void>;
}

/**
 * Checks whether the database works, and waits for a slow disk at most SLOW_COMMIT_MS. The newest commit shows the speed of
 * the disk, so after a slow one the check is a write.
 */
function createPing({ clock, lanes, alive }: PingDeps): () => Promise<CommitSpeed> {
  let running: Promise<unknown> | undefined;
  const ask = () => {
    const isDoubtful = lanes.durable.slownessMs >= SLOW_COMMIT_MS;
    const call = { part: 'database', method: 'probe', args: [isDoubtful] } as const;
    running ??= (isDoubtful ? lanes.durable : lanes.read).call(call).finally(() => {
      running = undefined;
    });
    return running;
  };
  return async () => {
    await alive();
    await orAfter(clock, SLOW_COMMIT_MS, ask(), () => undefined);
    return { commit_ms: lanes.durable.slownessMs };
  };
}
