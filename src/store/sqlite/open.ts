// Opens the database for a server: lock, checks that write nothing, settings, migrations. Two connections: a durable one
// for records, a relaxed one for buffered events (quality.md, rule 9).
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids, Logger, Random } from '../../domain/ports.ts';
import type { Store } from '../store.ts';
import { auditStore } from './audit.ts';
import { openBallast } from './ballast.ts';
import { eventIds } from './event-ids.ts';
import { eventStore } from './events.ts';
import { damaged, storeFailure } from './failures.ts';
import { settlePath, settleRights, stoppedUncleanly } from './file.ts';
import { idempotencyStore } from './idempotency.ts';
import { loadInstance } from './instance.ts';
import { KnownRows } from './known-rows.ts';
import { leaseStore } from './leases.ts';
import { acquireLock, type DatabaseLock } from './lock.ts';
import { checkIdentity, migrate } from './migrate.ts';
import { placeOf, refuseLoss } from './place.ts';
import { poolStore } from './pool.ts';
import { quotaStore } from './quotas.ts';
import { sandboxQueries } from './sandbox-queries.ts';
import { sandboxWrites } from './sandboxes.ts';
import Sqlite from './sqlite.ts';
import { templateStore } from './templates.ts';
import { warmStore } from './warm.ts';
import { patiently, storeWork } from './work.ts';
import { workerStore } from './workers.ts';

export interface SqliteOptions {
  path: string;
  /** Of the durable connection: `full` survives a power cut. */
  synchronous: 'full' | 'normal';
  clock: Clock;
  random: Random;
  ids: Ids;
  logger: Logger;
}

export interface SqliteStore extends Store {
  /** Puts the server's address into the message that a second server gets. */
  announce(address: string): void;
}

/**
 * The store in the file at `path`, made when it is not there, held by this process alone until `close`. Throws
 * `conflict` (in use, of another program, of a newer version), `internal` (damaged, no database), `unavailable`
 * (rights, I/O, held open); a file that is refused is left as it is.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const opened = new Opened();
  try {
    const path = settlePath(options.path);
    opened.lock = acquireLock(path, new Date(options.clock.now()).toISOString());
    return await build({ ...options, path }, opened);
  } catch (error) {
    opened.close();
    throw openFailure(error);
  }
}

/** What must be closed again, whatever happened between. */
class Opened {
  lock: DatabaseLock | undefined;
  readonly connections: Database[] = [];

  connect(path: string): Database {
    const db = new Sqlite(path, { timeout: 0 });
    this.connections.push(db);
    return db;
  }

  close(): void {
    for (const db of this.connections.splice(0).reverse()) db.close();
    this.lock?.release();
  }
}

async function build(options: SqliteOptions, opened: Opened): Promise<SqliteStore> {
  const { path, clock, random, logger } = options;
  const durable = await openChecked(options, opened);
  const relaxed = opened.connect(path);
  configure(relaxed, 'normal');
  const instance = loadInstance(durable, options);
  const ballast = openBallast(`${path}.reserve`, random);
  const work = storeWork({ clock, ballast, isOpen: () => durable.open, inPlace: placeOf(path) });
  const ids = eventIds(durable);
  const table = { db: durable, work, known: new KnownRows() };
  const alive = durable.prepare('SELECT id FROM instance');
  const lasting = durable.prepare('UPDATE instance SET id = id');
  logger.info({ instance: instance.id }, 'The database is open.');
  return {
    instance,
    sandboxes: { ...sandboxWrites(table, ids), ...sandboxQueries(table) },
    templates: templateStore(durable, work),
    quotas: quotaStore(durable, ids, work),
    warm: warmStore(durable, work),
    events: eventStore(relaxed, ids, work),
    pool: poolStore(durable, work),
    workers: workerStore(durable, work),
    leases: leaseStore(durable, work),
    idempotency: idempotencyStore(durable, work),
    audit: auditStore(durable, work),
    ping: () =>
      work.probe(
        () => void alive.get(),
        () => void lasting.run(),
      ),
    announce: (address) => opened.lock?.announce(address),
    close: async () => opened.close(),
  };
}

async function openChecked(options: SqliteOptions, opened: Opened): Promise<Database> {
  const { path, clock, logger } = options;
  refuseLoss(path);
  settleRights(path);
  await opened.lock?.holdFile();
  const unclean = stoppedUncleanly(path);
  const durable = opened.connect(path);
  await patiently(clock, () => checkIdentity(durable));
  if (unclean) {
    logger.warn({}, 'The last stop was not orderly; the database is checked.');
    await patiently(clock, () => quickCheck(durable));
  }
  await patiently(clock, () => configure(durable, options.synchronous));
  await patiently(clock, () => migrate(durable));
  return durable;
}

function configure(db: Database, synchronous: 'full' | 'normal'): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new ServiceError('unavailable', 'The database folder cannot hold a write-ahead log.', {
      remedy: 'Put database.path on a local disk.',
    });
  db.pragma(`synchronous = ${synchronous}`);
  db.pragma('foreign_keys = ON');
  // A damaged or hostile file must not run what it says (sqlite.org, "defense against the dark arts").
  db.pragma('trusted_schema = OFF');
}

function quickCheck(db: Database): void {
  const verdict = db.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw damaged(new Error(String(verdict)));
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
