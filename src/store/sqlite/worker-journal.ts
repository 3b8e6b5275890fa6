// The worker's journal: a small database with the same kind of lock and writer as the server's.
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import type { WorkerJournal, WorkerSandboxRecord } from '../seam/worker-journal.ts';
import type { Instance } from '../store.ts';
import { retryWhileBusy } from './executor.ts';
import { storeFailure } from './failures.ts';
import { settlePath, settleRights } from './file.ts';
import { refuseMissingFile } from './file-identity.ts';
import { loadInstance } from './instance.ts';
import { Lane } from './lane.ts';
import { acquireLock } from './lock.ts';
import Sqlite from './sqlite.ts';
import { threadLink } from './thread-link.ts';
import type { LaneName } from './wire.ts';
import { inlineLink, type WriterLink } from './writer-link.ts';

/** `svcw`: distinguishes it from the server's database and from other files. */
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
  /** The program of the writer thread (app/store-thread.ts). Without it, writes block the caller's thread. */
  thread?: string | undefined;
  clock: Clock;
  random: Random;
  ids: Ids;
}

/**
 * Opens or creates the journal in the file at `path`. Throws `conflict` if another worker holds it, or if it is not a
 * journal or of a newer version. A refused file is not changed.
 */
export async function openWorkerJournal(deps: JournalDeps): Promise<WorkerJournal> {
  const path = settlePath(deps.path);
  const lock = await taking(() => acquireLock(path, new Date(deps.clock.now()).toISOString()));
  const link = deps.thread === undefined ? inlineLink(deps) : threadLink(deps.thread);
  const close = async () => {
    await link.close();
    lock.release();
  };
  try {
    refuseMissingFile(path);
    settleRights(path);
    await taking(() => lock.holdFile());
    const instance = await settled(path, deps, () => link.open({ of: 'worker', path, synchronous: 'full' }));
    return journalOver({ clock: deps.clock, instance, link, close });
  } catch (error) {
    await close();
    throw storeFailure(error);
  }
}

/** Prepares the journal at `path` and returns its identity. `open` runs before this connection closes. */
async function settled(path: string, deps: JournalDeps, open: () => Promise<void>): Promise<Instance> {
  const db = new Sqlite(path, { timeout: 0 });
  try {
    await retryWhileBusy(deps.clock, () => prepare(db));
    const instance = loadInstance(db, deps);
    await open();
    return instance;
  } finally {
    db.close();
  }
}

async function taking<T>(take: () => T | Promise<T>): Promise<T> {
  try {
    return await take();
  } catch (error) {
    const failure = storeFailure(error);
    if (failure.code !== 'conflict') throw failure;
    throw new ServiceError('conflict', 'A worker with this id already runs on this host.', {
      cause: failure,
      remedy: 'Stop it first, or set another --id or database.path for this one.',
    });
  }
}

function prepare(db: Database): void {
  const version = db.pragma('user_version', { simple: true });
  const isNew = db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0;
  if (isNew) db.transaction(() => db.exec(TABLES)).immediate();
  else if (db.pragma('application_id', { simple: true }) !== APPLICATION_ID || version !== VERSION)
    throw new ServiceError('conflict', "The worker's journal belongs to another program or version.", {
      remedy: 'Run the program version that wrote it. The file was not changed.',
    });
  db.pragma('journal_mode = WAL');
  db.pragma('trusted_schema = OFF');
}

interface OpenJournal {
  clock: Clock;
  instance: Instance;
  link: WriterLink;
  close(): Promise<void>;
}

function journalOver({ clock, instance, link, close }: OpenJournal): WorkerJournal {
  const lane = (name: LaneName) => new Lane({ name, clock, send: (request) => link.send(request) });
  const [durable, read] = [lane('durable'), lane('read')];
  return {
    instance,
    lost: link.lost,
    all: () => read.call({ part: 'held', method: 'all', args: [] }) as Promise<WorkerSandboxRecord[]>,
    put: async (record) => void (await durable.call({ part: 'held', method: 'put', args: [record] })),
    forget: async (before) => void (await durable.call({ part: 'held', method: 'forget', args: [before] })),
    close: async () => {
      for (const one of [durable, read]) one.close();
      await close();
    },
  };
}
