// The writing connections and their requests. A server runs it in its own thread (thread-link.ts), commands and tests
// in the caller's thread (writer-link.ts).

import type { Database } from 'better-sqlite3';
import { asServiceError, type ServiceError } from '../../domain/errors.ts';
import { toPlain } from '../../domain/plain-error.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import type { WorkerSandboxRecord } from '../seam/worker-journal.ts';
import { Acknowledged } from './acknowledged.ts';
import { configure, type Synchronous } from './connection.ts';
import { eventIds } from './event-ids.ts';
import { createExecutor, type Executor } from './executor.ts';
import { isBusy, isOfDisk } from './failures.ts';
import { fileIdentityCheck } from './file-identity.ts';
import { Groups, type Settled } from './groups.ts';
import { openReserveSpace, type ReserveSpace } from './reserve-space.ts';
import Sqlite from './sqlite.ts';
import { storeTables } from './tables.ts';
import type { Call, Outcome, Request } from './wire.ts';

export interface WriterOptions {
  of: 'server' | 'worker';
  /** The path of an open, migrated database. */
  path: string;
  synchronous: Synchronous;
}

export interface Writer {
  /** Resolves when everything is durable. Never rejects. */
  serve(request: Request): Promise<Outcome[]>;
  /** Idempotent. */
  close(): void;
}

/** The parts of a writer that depend on the kind of database. */
export interface WriterParts {
  tables: Record<string, object>;
  groups: Groups;
  alone: Executor;
  acknowledged?: Acknowledged;
}

export interface WriterGround extends WriterOptions {
  clock: Clock;
  random: Random;
  /** Opens a connection that closes with the writer. */
  connect(level: Synchronous): Database;
}

/** Throws SQLite's errors. */
export function openWriter(options: WriterOptions, deps: { clock: Clock; random: Random }): Writer {
  const opened: Database[] = [];
  const connect = (level: Synchronous) => {
    const db = new Sqlite(options.path, { fileMustExist: true, timeout: 0 });
    opened.push(db);
    configure(db, level);
    return db;
  };
  const ground = { ...options, ...deps, connect };
  try {
    return new Connections(options.of === 'worker' ? journalParts(ground) : serverParts(ground), opened);
  } catch (error) {
    for (const db of opened) db.close();
    throw error;
  }
}

function serverParts({ path, synchronous, clock, random, connect }: WriterGround): WriterParts {
  const [durable, relaxed] = [connect(synchronous), connect('normal')];
  const guards = {
    reserveSpace: openReserveSpace(`${path}.reserve`, random),
    inPlace: fileIdentityCheck(path),
  };
  const ids = eventIds(durable);
  const alone = createExecutor({ clock, ...guards, isOpen: () => durable.open });
  const groups = new Groups({ db: durable, ids, ...guards, alone });
  const { work } = groups;
  const alive = durable.prepare('SELECT id FROM instance');
  const lasting = durable.prepare('UPDATE instance SET id = id');
  const write = () => void lasting.run();
  const probe = (must: boolean) => work.probe(must ? write : () => void alive.get(), write);
  const tables = { ...storeTables({ durable, relaxed, ids, work }), database: { probe } };
  return { tables, groups, alone, acknowledged: new Acknowledged(path) };
}

class Connections implements Writer {
  readonly #opened: Database[];
  readonly #parts: WriterParts;

  constructor(parts: WriterParts, opened: Database[]) {
    this.#parts = parts;
    this.#opened = opened;
    parts.acknowledged?.begin();
  }

  async serve({ lane, calls }: Request): Promise<Outcome[]> {
    const settled =
      lane === 'durable' && calls.length > 1 ? await this.#together(calls) : await this.#each(calls);
    if (lane === 'durable') this.#parts.acknowledged?.note();
    return settled.map((one) => ('error' in one ? { failure: toPlain(one.error) } : one));
  }

  close(): void {
    this.#parts.acknowledged?.withdraw();
    for (const db of this.#opened.splice(0).reverse()) db.close();
    this.#parts.acknowledged?.close();
  }

  async #together(calls: readonly Call[]): Promise<Settled[]> {
    try {
      return await this.#parts.alone.run(() =>
        this.#parts.groups.together(calls.map((call) => () => void this.#call(call))),
      );
    } catch (caught) {
      const error = asServiceError(caught);
      // A failure of one call, such as no space for its row, does not affect the others.
      return isForAll(error) ? calls.map(() => ({ error })) : this.#each(calls);
    }
  }

  async #each(calls: readonly Call[]): Promise<Settled[]> {
    const settled: Settled[] = [];
    for (const call of calls) settled.push(await this.#one(call));
    return settled;
  }

  async #one(call: Call): Promise<Settled> {
    try {
      return { value: await this.#call(call) };
    } catch (error) {
      return { error: asServiceError(error) };
    }
  }

  #call({ part, method, args }: Call): Promise<unknown> {
    const table = this.#parts.tables[part] as Record<
      string,
      (...given: readonly unknown[]) => Promise<unknown>
    >;
    return table[method]!(...args);
  }
}

const isForAll = ({ cause }: ServiceError) => isBusy(cause) || isOfDisk(cause);

const NO_RESERVE: ReserveSpace = { ready: () => true, spend: () => false };
const NO_IDS = { reload: () => {} };

/** A worker's journal has one table. It needs little space, and with none (a full disk) a worker can still end its sandboxes. */
function journalParts({ path, synchronous, clock, connect }: WriterGround): WriterParts {
  const db = connect(synchronous);
  const guards = { reserveSpace: NO_RESERVE, inPlace: fileIdentityCheck(path) };
  const alone = createExecutor({ clock, ...guards, isOpen: () => db.open });
  const groups = new Groups({ db, ids: NO_IDS, ...guards, alone });
  const { work } = groups;
  const all = db.prepare<[], string>('SELECT record FROM held').pluck();
  const put = db.prepare<[string, string, string, string]>(
    'INSERT OR REPLACE INTO held (sandbox_id, state, noted_at, record) VALUES (?, ?, ?, ?)',
  );
  const forget = db.prepare<[string]>("DELETE FROM held WHERE state = 'ended' AND noted_at < ?");
  const held = {
    all: () => work.run(() => all.all().map((text) => JSON.parse(text) as WorkerSandboxRecord)),
    put: (record: WorkerSandboxRecord) =>
      work.change(
        () => void put.run(record.sandbox_id, record.state, record.noted_at, JSON.stringify(record)),
      ),
    forget: (before: string) => work.change(() => void forget.run(before)),
  };
  return { tables: { held }, groups, alone };
}
