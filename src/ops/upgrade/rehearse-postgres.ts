// `svc upgrade rehearse` over PostgreSQL: a dump of the database is restored into a scratch database, and the upgrade is done
// there. The source is read and never written.
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { displayUrl, parseAddress } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import { shellWord } from '../../domain/exec-request.ts';
import type { Host } from '../../host/host.ts';
import { partFile, refuseTaken } from '../../host/part-file.ts';
import type { RehearsalReport } from '../../schema/rehearsal.ts';
import { PostgresExam } from '../../store/postgres/examine.ts';
import { SCHEMA_VERSION } from '../../store/postgres/migrate.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { hashFile } from '../db/copy-file.ts';
import { dumpTo, readDump, restoreInto } from '../db/postgres-programs.ts';
import { readAll } from './records.ts';
import { examine, type RehearsalDeps, type RehearsalRequest, SILENT } from './rehearse.ts';
import { type StepOutcome, Steps } from './steps.ts';

export interface PostgresRehearsal extends Omit<RehearsalRequest, 'database'> {
  url: string;
  /** An empty database; absent: one is created on the same server, and dropped. */
  scratchUrl?: string | undefined;
}

const DUMP = { id: 'backup', title: 'Dump the database with pg_dump and read the dump' } as const;
const SCRATCH = { id: 'scratch', title: 'Restore the dump into a scratch database' } as const;
const MIGRATION = { id: 'migration', title: 'Migrate the scratch database' } as const;
const ROWS = { id: 'rows', title: 'Compare the number of rows of every table' } as const;
const RECORDS = { id: 'records', title: 'Read every record with this program' } as const;

type Deps = RehearsalDeps & { host: Host };
type Counts = ReadonlyMap<string, number>;

/** Leaves the dump at `backupOutput` and nothing else. Throws what keeps it from being rehearsed. */
export async function rehearsePostgres(request: PostgresRehearsal, deps: Deps): Promise<RehearsalReport> {
  const output = resolve(request.backupOutput);
  if (!request.force && existsSync(output)) throw refuseTaken(output);
  const steps = new Steps(deps.clock);
  const { onStage } = request;
  await examine(steps, request);
  onStage?.('copy');
  const dump = await steps.take(DUMP, () => dumped(request, output, deps));
  const scratch = await openScratch(request, deps);
  try {
    const before = await steps.take(SCRATCH, () => restored(scratch.url, output, request, deps));
    onStage?.('migrate');
    await steps.take(MIGRATION, () => migrated(scratch.url, dump?.schema_version, request, deps));
    await steps.take(ROWS, () => rowsKept(before ?? new Map(), scratch.url, deps));
    onStage?.('load');
    await steps.take(RECORDS, () => recordsRead(scratch.url, request, deps));
  } finally {
    await scratch.drop();
  }
  const ok = !steps.failed;
  return {
    ok,
    ...(request.lint && { config: request.lint.file }),
    database: displayUrl(request.url),
    program_version: request.programVersion,
    ...(dump?.schema_version !== undefined && { from_version: dump.schema_version }),
    to_version: SCHEMA_VERSION,
    ...(dump && { dump: { output, size_bytes: statSync(output).size, sha256: dump.sha256 } }),
    steps: steps.list,
    ...instructions(ok, output, request.programVersion),
  };
}

interface Dumped {
  schema_version: number | undefined;
  sha256: string;
}

async function dumped(
  { url, force = false, signal }: PostgresRehearsal,
  output: string,
  { host }: Deps,
): Promise<StepOutcome<Dumped>> {
  const part = partFile(output);
  try {
    await dumpTo(part.path, parseAddress(url), { host, signal });
    const { ours, schema_version } = await readDump(part.path, { host, signal });
    const { sha256, bytes } = await hashFile(part.path, { signal });
    part.publish(force);
    const problems = ours ? [] : ['The database does not belong to this service.'];
    return {
      value: { schema_version, sha256 },
      result: `${bytes} bytes, schema version ${schema_version}`,
      problems,
    };
  } finally {
    part.discard();
  }
}

interface Scratch {
  url: string;
  drop(): Promise<void>;
}

/** Throws `forbidden` without the right to create a database, `conflict` for a scratch database with tables. */
async function openScratch({ url, scratchUrl }: PostgresRehearsal, { clock }: Deps): Promise<Scratch> {
  const given = scratchUrl ?? url;
  const exam = new PostgresExam(given, clock);
  try {
    if (scratchUrl !== undefined) {
      const [row] = await exam.ask<{ tables: number }>(
        "SELECT count(*) AS tables FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
      );
      if (row?.tables === 0) return { url: scratchUrl, drop: async () => {} };
      throw new ServiceError('conflict', 'The scratch database has tables.', {
        remedy: 'Name an empty database.',
      });
    }
    const [row] = await exam.ask<{ may: boolean }>(
      'SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user',
    );
    if (!row?.may)
      throw new ServiceError('forbidden', 'The user of database.url may not create a scratch database.', {
        remedy: 'Create an empty database, and name it with --scratch; or grant CREATEDB.',
      });
    const name = `svc_rehearsal_${process.pid}`;
    await exam.ask(`DROP DATABASE IF EXISTS ${name}`);
    await exam.ask(`CREATE DATABASE ${name}`);
    return {
      url: url.replace(/^(\w+:\/\/[^@]*@[^/]+\/)[^?]*/, `$1${name}`),
      drop: () => dropped(url, name, { clock }),
    };
  } finally {
    await exam.close();
  }
}

async function dropped(url: string, name: string, { clock }: Pick<Deps, 'clock'>): Promise<void> {
  const exam = new PostgresExam(url, clock);
  await exam.ask(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`).finally(() => exam.close());
}

async function restored(
  url: string,
  dump: string,
  { signal }: PostgresRehearsal,
  deps: Deps,
): Promise<StepOutcome<Counts>> {
  await restoreInto(parseAddress(url), dump, { host: deps.host, signal });
  const value = await countsOf(url, deps);
  return { value, result: `${sum(value.values())} rows in ${value.size} tables` };
}

async function countsOf(url: string, { clock }: Pick<Deps, 'clock'>): Promise<Map<string, number>> {
  const exam = new PostgresExam(url, clock);
  try {
    const counts = new Map<string, number>();
    for (const { name } of await exam.tables()) {
      const [row] = await exam.ask<{ rows: number }>(
        `SELECT count(*) AS rows FROM "${name.replaceAll('"', '""')}"`,
      );
      counts.set(name, row?.rows ?? 0);
    }
    return counts;
  } finally {
    await exam.close();
  }
}

const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, each) => total + each, 0);

const storeOn = (url: string, { programVersion }: PostgresRehearsal, deps: Deps) =>
  openPostgresStore({
    ...deps,
    url,
    program: programVersion,
    pool: 4,
    prepare: false,
    requireSyncStandby: false,
    listen: false,
    logger: SILENT,
  });

async function migrated(
  url: string,
  from: number | undefined,
  request: PostgresRehearsal,
  deps: Deps,
): Promise<StepOutcome<void>> {
  await (await storeOn(url, request, deps)).close();
  const result =
    from === SCHEMA_VERSION
      ? `no migrations needed; the schema has version ${SCHEMA_VERSION}`
      : `version ${from} to ${SCHEMA_VERSION}`;
  return { value: undefined, result };
}

/** Opening the store gives ids to events of the outbox. */
const MOVING: readonly string[] = ['outbox', 'events'];

async function rowsKept(before: Counts, url: string, deps: Deps): Promise<StepOutcome<void>> {
  const after = await countsOf(url, deps);
  const problems = [...before]
    .filter(([name, rows]) => !MOVING.includes(name) && after.get(name) !== rows)
    .map(
      ([name, rows]) =>
        `${name} had ${rows} rows and has ${after.get(name) ?? 'none: the table no longer exists'}.`,
    );
  return { value: undefined, result: `${before.size} tables`, problems };
}

async function recordsRead(url: string, request: PostgresRehearsal, deps: Deps): Promise<StepOutcome<void>> {
  const counts = await countsOf(url, deps);
  const store = await storeOn(url, request, deps);
  try {
    const read = await readAll(store);
    const problems = [...counts]
      .filter(([name, rows]) => !MOVING.includes(name) && read[name] !== undefined && read[name] !== rows)
      .map(([name, rows]) => `Of ${rows} rows of ${name}, ${read[name]} could be read.`);
    return { value: undefined, result: `${sum(Object.values(read))} records`, problems };
  } finally {
    await store.close();
  }
}

function instructions(
  ok: boolean,
  output: string,
  version: string,
): Pick<RehearsalReport, 'upgrade' | 'way_back'> {
  if (!ok) return { upgrade: [], way_back: [] };
  return {
    upgrade: [
      'Back up the current database with pg_dump, as above.',
      `Install version ${version} of svc on one server after the other, and restart each. The first one migrates the database.`,
      'Check the output of svc doctor --only postgres, and check the logs for warnings.',
    ],
    way_back: [
      'Install the previous version on the servers one after the other: it works with the new schema if it starts.',
      `If it does not start: stop every server, restore ${shellWord(output)} with the line that svc db restore prints, and start the previous version.`,
    ],
  };
}
