// `svc db copy`: moves all records between a database file and PostgreSQL. The copy is compared with its origin row by row
// before it counts; until then the target is as it was.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { displayUrl } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import { LOCAL_KINDS } from '../../domain/local-kinds.ts';
import type { Clock } from '../../domain/ports.ts';
import { partFile, refuseTaken } from '../../host/part-file.ts';
import type { CopiedTable, CopyReport } from '../../schema/db-report.ts';
import {
  type CopiedCounters,
  type CopiedRow,
  digestOf,
  RowDigest,
  type RowSource,
  type TablePlan,
} from '../../store/copied-tables.ts';
import { otherVersion, type PostgresCopy, withCopyOf } from '../../store/postgres/copied-rows.ts';
import {
  fileCounters,
  fileRows,
  fillFile,
  rowsOfThisHost,
  tablePlans,
} from '../../store/sqlite/copied-rows.ts';
import { settlePath } from '../../store/sqlite/file.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { acquireLock } from '../../store/sqlite/lock.ts';
import { SCHEMA_VERSION } from '../../store/sqlite/migrate.ts';
import { fileOf, openReader, walBytes } from '../../store/sqlite/reader.ts';
import type { Instance } from '../../store/store.ts';
import { requireSound, type TaskOptions } from './backup.ts';
import { openChecker } from './checker.ts';
import { restoreDatabase } from './restore.ts';

const MOST_NAMED = 20;

export interface CopyRequest extends TaskOptions {
  /** The path of the database file. */
  file: string;
  url: string;
  /** The file that has the URL, for the printed configuration. */
  urlFile?: string | undefined;
  /** Replaces the records of a target that has some. */
  force?: boolean | undefined;
  /** The version of the program. */
  program: string;
}

/**
 * Copies the file, which no server may use, into the database of the URL. Throws `conflict` (a server uses either; the
 * target has records; live sandboxes need this host; other versions), `internal` (the file is damaged; the copy differs),
 * `unavailable`, and the signal's reason: the target is then as it was. A lost answer to the commit is `unavailable` too,
 * and says that it may have happened.
 */
export async function copyToPostgres(request: CopyRequest, clock: Clock): Promise<CopyReport> {
  const started = clock.monotonic();
  fileOf(resolve(request.file));
  const file = settlePath(request.file);
  const lock = acquireLock(file, new Date(clock.now()).toISOString());
  try {
    await lock.holdFile();
    const copied = await filled({ ...request, file }, clock);
    return {
      from: file,
      to: displayUrl(request.url),
      ...copied,
      warnings: [],
      configuration: `database:\n  url_file: ${request.urlFile ?? 'FILE_WITH_THE_URL'}\n`,
      duration_ms: Math.round(clock.monotonic() - started),
    };
  } finally {
    lock.release();
  }
}

type Copied = Pick<CopyReport, 'schema_version' | 'instance' | 'rows' | 'tables'>;

async function filled(request: CopyRequest, clock: Clock): Promise<Copied> {
  const { file, url, program, force = false, signal, onStage } = request;
  onStage?.('check');
  const { facts } = await checkedFile(file, signal);
  const db = openReader(file);
  try {
    refuseOfThisHost(db);
    const instance = db.prepare<[], Instance>('SELECT id, key, created_at FROM instance').get()!;
    const counters = fileCounters(db);
    const total = facts.tables.reduce((sum, { rows }) => sum + rows, 0);
    const tables = await withCopyOf({ url, clock }, async (copy) => {
      await copy.refuseServers();
      const known = await copy.beginFilling({ program, instance, force });
      const origin = await written(copy, fileRows(db), { total, signal, onStage });
      await copy.raise(highest(counters, known));
      await compared(copy, origin, { total, signal, onStage });
      const { rows, counted } = await copy.activeCounts();
      if (rows !== counted) throw differs('active_counts');
      signal?.throwIfAborted();
      await copy.commit();
      return origin;
    });
    return summary(instance, tables);
  } finally {
    db.close();
  }
}

const summary = ({ id }: Pick<Instance, 'id'>, tables: CopiedTable[]): Copied => ({
  schema_version: SCHEMA_VERSION,
  instance: id,
  rows: tables.reduce((sum, { rows }) => sum + rows, 0),
  tables,
});

const highest = (own: CopiedCounters, other: Partial<CopiedCounters>): CopiedCounters => ({
  events: Math.max(own.events, other.events ?? 0),
  audit: Math.max(own.audit, other.audit ?? 0),
});

async function checkedFile(file: string, signal: AbortSignal | undefined) {
  const { ours, schema_version } = inspectDatabase(file);
  if (ours && schema_version !== SCHEMA_VERSION) throw otherVersion(schema_version, SCHEMA_VERSION);
  const checker = openChecker(fileOf(file).size + walBytes(file), 'rows', signal);
  try {
    return requireSound(await checker.check(file), 'The database failed its checks.');
  } finally {
    checker.close();
  }
}

function refuseOfThisHost(db: Parameters<typeof rowsOfThisHost>[0]): void {
  const { count, ids } = rowsOfThisHost(db, LOCAL_KINDS, MOST_NAMED);
  if (count === 0) return;
  const more = count > ids.length ? ' and more' : '';
  throw new ServiceError(
    'conflict',
    `${count} sandboxes, prewarmed sandboxes or pool VMs need this host: ${ids.join(', ')}${more}.`,
    {
      remedy:
        'Start the server again, set prewarm of its templates to 0, destroy these sandboxes and switch the pool off. Then stop it, and copy.',
      details: { count, ids },
    },
  );
}

interface Progress extends TaskOptions {
  /** Rows of all tables. */
  total: number;
}

/** Returns the digests of the rows as they were read. */
async function written(copy: PostgresCopy, source: RowSource, progress: Progress): Promise<CopiedTable[]> {
  const step = stepper('rows', progress);
  const tables: CopiedTable[] = [];
  for (const table of tablePlans()) {
    const digest = new RowDigest();
    await copy.write(table, digested(source.read(table, progress.signal), digest, step));
    tables.push(digest.result(table.name));
  }
  return tables;
}

async function* digested(
  batches: AsyncIterable<CopiedRow[]>,
  digest: RowDigest,
  onRows: (rows: number) => void,
): AsyncGenerator<CopiedRow[]> {
  for await (const batch of batches) {
    digest.add(batch);
    onRows(batch.length);
    yield batch;
  }
}

function stepper(stage: 'rows' | 'compare', { total, onStage }: Progress): (rows: number) => void {
  let done = 0;
  onStage?.(stage, 0, total);
  return (rows) => {
    done += rows;
    onStage?.(stage, done, total);
  };
}

/** Reads `target` again. Throws `internal` if it does not have the rows of the origin. */
async function compared(
  target: RowSource,
  origin: readonly CopiedTable[],
  progress: Progress,
): Promise<void> {
  const onRows = stepper('compare', progress);
  for (const [at, table] of tablePlans().entries()) {
    const { rows, sha256 } = await digestOf(target, table, { signal: progress.signal, onRows });
    if (rows !== origin[at]?.rows || sha256 !== origin[at].sha256) throw differs(table.name);
  }
}

const differs = (table: string) =>
  new ServiceError('internal', `The copy of ${table} differs from the original.`, {
    remedy: 'Nothing was changed. Try again; if the error persists, report it.',
  });

/**
 * Copies the database of the URL, which no server may use, into the file, as a restore does it. Throws as
 * `copyToPostgres`, and like `restoreDatabase`.
 */
export async function copyFromPostgres(request: CopyRequest, clock: Clock): Promise<CopyReport> {
  const started = clock.monotonic();
  const { url, force = false, signal, onStage } = request;
  const file = settlePath(request.file);
  if (!force && existsSync(file)) throw refuseTaken(file);
  // A server that uses the file is found before the long work, and again by the restore.
  acquireLock(file, new Date(clock.now()).toISOString()).release();
  const part = partFile(`${file}.copy`);
  try {
    const copied = await withCopyOf({ url, clock }, (copy) => intoFile(copy, part.path, { signal, onStage }));
    const { warnings, safety_copy, way_back } = await restoreDatabase(
      { input: part.path, database: file, signal, onStage },
      clock,
    );
    return {
      from: displayUrl(url),
      to: file,
      ...copied,
      warnings,
      ...(safety_copy !== undefined && { safety_copy }),
      ...(way_back !== undefined && { way_back }),
      configuration: `database:\n  path: ${file}\n`,
      duration_ms: Math.round(clock.monotonic() - started),
    };
  } finally {
    part.discard();
  }
}

async function intoFile(copy: PostgresCopy, path: string, task: TaskOptions): Promise<Copied> {
  await copy.refuseServers();
  await copy.beginReading();
  const plans = tablePlans();
  const progress = { ...task, total: await copy.rowCount(plans) };
  const step = stepper('rows', progress);
  const digests = new Map(plans.map(({ name }) => [name, new RowDigest()]));
  const rowsOf = (table: TablePlan) =>
    digested(copy.read(table, task.signal), digests.get(table.name)!, step);
  await fillFile(
    path,
    plans.map((table) => ({ table, rows: rowsOf(table) })),
    await copy.counters(),
  );
  const tables = plans.map(({ name }) => digests.get(name)!.result(name));
  const db = openReader(path);
  try {
    await compared(fileRows(db), tables, progress);
    return summary(db.prepare<[], Instance>('SELECT id FROM instance').get()!, tables);
  } finally {
    db.close();
  }
}
