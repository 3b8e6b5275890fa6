// The worker's journal: a small database of its own, beside which lies the same kind of lock as beside the server's.
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import type { HeldRecord, WorkerJournal } from '../seam/worker-journal.ts';
import { storeClosed, storeFailure } from './failures.ts';
import { settlePath, settleRights } from './file.ts';
import { loadInstance } from './instance.ts';
import { acquireLock } from './lock.ts';
import { placeOf, refuseLoss } from './place.ts';
import Sqlite from './sqlite.ts';
import { patiently } from './work.ts';

/** `svcw`: tells it from the server's database and from all others. */
const APPLICATION_ID = 0x73766377;
const VERSION = 1;

const TABLES = `
  CREATE TABLE instance (
    one INTEGER PRIMARY KEY CHECK (one = 1) DEFAULT 1,
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    created_at TEXT NOT NULL
  ) STRICT;
  CREATE TABLE held (
    sandbox_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    noted_at TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`;

export interface JournalDeps {
  path: string;
  clock: Clock;
  random: Random;
  ids: Ids;
}

/**
 * The journal in the file at `path`, made when it is not there. Throws `conflict` when another worker holds it, or when it
 * is no journal or one of a newer version; a file that is refused is left as it is.
 */
export async function openWorkerJournal(deps: JournalDeps): Promise<WorkerJournal> {
  const path = settlePath(deps.path);
  const lock = await taking(() => acquireLock(path, new Date(deps.clock.now()).toISOString()));
  let db: Database | undefined;
  try {
    refuseLoss(path);
    settleRights(path);
    await taking(() => lock.holdFile());
    db = new Sqlite(path, { timeout: 0 });
    prepare(db);
    const instance = loadInstance(db, deps);
    return journalOver(db, { ...deps, instance, inPlace: placeOf(path), release: () => lock.release() });
  } catch (error) {
    db?.close();
    lock.release();
    throw storeFailure(error);
  }
}

async function taking<T>(take: () => T | Promise<T>): Promise<T> {
  try {
    return await take();
  } catch (error) {
    const failure = storeFailure(error);
    if (failure.code !== 'conflict') throw failure;
    throw new ServiceError('conflict', 'A worker of this id runs on this host.', {
      cause: failure,
      remedy: 'Stop it first, or give this one another --id or database.path.',
    });
  }
}

function prepare(db: Database): void {
  const version = db.pragma('user_version', { simple: true });
  const isNew = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (isNew) db.transaction(() => db.exec(TABLES)).immediate();
  else if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID || version !== VERSION)
    throw new ServiceError('conflict', "The worker's journal is of another program or version.", {
      remedy: 'Run the program version that wrote it; it is not changed.',
    });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.pragma('trusted_schema = OFF');
}

interface Opened extends JournalDeps {
  instance: WorkerJournal['instance'];
  inPlace(): void;
  release(): void;
}

function journalOver(db: Database, { clock, instance, inPlace, release }: Opened): WorkerJournal {
  const all = db.prepare<[], string>('SELECT record FROM held').pluck();
  const put = db.prepare<[string, string, string, string]>(
    'INSERT OR REPLACE INTO held (sandbox_id, state, noted_at, record) VALUES (?, ?, ?, ?)',
  );
  const forget = db.prepare<[string]>("DELETE FROM held WHERE state = 'ended' AND noted_at < ?");
  const run = <T>(deed: () => T) =>
    patiently(clock, () => {
      if (!db.open) throw storeClosed();
      return deed();
    });
  const change = (deed: () => void) =>
    run(() => {
      inPlace();
      deed();
    });
  return {
    instance,
    all: () => run(() => all.all().map((text) => JSON.parse(text) as HeldRecord)),
    put: (record) =>
      change(() => void put.run(record.sandbox_id, record.state, record.noted_at, JSON.stringify(record))),
    forget: (before) => change(() => void forget.run(before)),
    close: async () => {
      db.close();
      release();
    },
  };
}
