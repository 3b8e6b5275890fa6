// `svc upgrade rehearse`: what an upgrade to this program would do to a database, done to a copy. The source is read and
// never written, also when it is in use.
import { copyFileSync, constants as FS, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { shellWord } from '../../domain/exec-request.ts';
import type { Clock, Ids, Logger, Random } from '../../domain/ports.ts';
import { isAlive } from '../../host/part-file.ts';
import type { BackupReport } from '../../schema/db-report.ts';
import type { DoctorReport } from '../../schema/doctor.ts';
import type { LintReport } from '../../schema/lint.ts';
import type { RehearsalReport } from '../../schema/rehearsal.ts';
import { verifyDatabase } from '../../store/sqlite/check.ts';
import { inspectDatabase } from '../../store/sqlite/inspect.ts';
import { SCHEMA_VERSION } from '../../store/sqlite/migrate.ts';
import { type MigratedFile, migrateFile } from '../../store/sqlite/migrate-file.ts';
import { openSqliteStore } from '../../store/sqlite/open.ts';
import { fileOf, walBytes } from '../../store/sqlite/reader.ts';
import { backupDatabase, type TaskOptions } from '../db/backup.ts';
import { requireSpace } from '../db/space.ts';
import { readAll } from './records.ts';
import { type StepOutcome, Steps } from './steps.ts';

export interface RehearsalRequest extends TaskOptions {
  database: string;
  backupOutput: string;
  /** Replaces a backup that is there. */
  force?: boolean | undefined;
  programVersion: string;
  /** Examines this machine; absent when it is not wanted. */
  doctor?: (() => Promise<DoctorReport>) | undefined;
  /** Looks whether templates can get their images; absent when the doctor does, or nobody wants to know. */
  templates?: (() => Promise<DoctorReport>) | undefined;
  /** What was found about the configuration; absent when there is no file. */
  lint?: LintReport | undefined;
}

export interface RehearsalDeps {
  clock: Clock;
  random: Random;
  ids: Ids;
}

/** The backup, the copy, and room for what migrations write. */
const ROOM = 3;

/**
 * Leaves a checked backup at `backupOutput` and nothing else. What speaks against the upgrade is in the report; throws
 * what keeps it from being rehearsed, as `backupDatabase` does.
 */
export async function rehearseUpgrade(
  request: RehearsalRequest,
  deps: RehearsalDeps,
): Promise<RehearsalReport> {
  const database = resolve(request.database);
  const output = resolve(request.backupOutput);
  requireSpace(dirname(output), ROOM * (fileOf(database).size + walBytes(database)));
  const steps = new Steps(deps.clock);
  await examine(steps, request);
  const backup = await steps.take(BACKUP, () => backedUp({ ...request, database }, deps.clock));
  const migrated = await inPrivateFolder(dirname(output), (folder) =>
    onCopy({ ...request, backup, copy: join(folder, 'svc.db'), steps }, deps),
  );
  const ok = !steps.failed;
  return {
    ok,
    ...(request.lint && { config: request.lint.file }),
    database,
    program_version: request.programVersion,
    ...(migrated && { from_version: migrated.from_version }),
    to_version: SCHEMA_VERSION,
    ...(backup && { backup }),
    steps: steps.list,
    ...instructions(ok, { database, output, version: request.programVersion }),
  };
}

const CONFIGURATION = {
  id: 'configuration',
  title: 'Check the configuration for production',
} as const;
const DOCTOR = { id: 'doctor', title: 'Check this machine for production' } as const;
const TEMPLATES = { id: 'templates', title: 'Check the images of templates' } as const;
const BACKUP = { id: 'backup', title: 'Back up the database and check the backup' } as const;
const MIGRATION = { id: 'migration', title: 'Migrate a copy of the database' } as const;
const CHECKS = {
  id: 'checks',
  title: 'Check pages, indexes, references and counters of the migrated copy',
} as const;
const ROWS = { id: 'rows', title: 'Compare the number of rows of every table' } as const;
const RECORDS = { id: 'records', title: 'Read every record with this program' } as const;

interface OnCopy extends TaskOptions {
  backup: BackupReport | undefined;
  copy: string;
  steps: Steps;
}

async function onCopy(task: OnCopy, deps: RehearsalDeps): Promise<MigratedFile | undefined> {
  const { backup, copy, steps, signal, onStage } = task;
  if (backup) copyFileSync(backup.output, copy, FS.COPYFILE_FICLONE);
  onStage?.('migrate');
  const migrated = await steps.take(MIGRATION, async () =>
    migration(migrateFile(copy, deps.clock.monotonic)),
  );
  signal?.throwIfAborted();
  onStage?.('check');
  await steps.take(CHECKS, async () => checked(copy));
  await steps.take(ROWS, async () => rowsKept(backup?.tables ?? [], copy));
  signal?.throwIfAborted();
  onStage?.('load');
  await steps.take(RECORDS, () => recordsRead(copy, deps));
  return migrated;
}

/** The steps that look at the configuration, this machine and the images. */
export async function examine(
  steps: Steps,
  { lint, doctor, templates }: Pick<RehearsalRequest, 'lint' | 'doctor' | 'templates'>,
): Promise<void> {
  if (lint) await steps.note(CONFIGURATION, async () => judged(lint));
  if (doctor) await steps.note(DOCTOR, async () => examined(await doctor()));
  if (templates) await steps.note(TEMPLATES, async () => ({ ...examined(await templates()), mild: true }));
}

function judged(lint: LintReport): StepOutcome<void> {
  const problems = lint.findings.map(({ rule, key, message }) => `${rule} ${key}: ${message}`);
  const result = `${lint.errors} errors, ${lint.warnings} warnings`;
  return { value: undefined, result, problems, mild: lint.usable };
}

function examined({ groups, verdict }: DoctorReport): StepOutcome<void> {
  const checks = groups.flatMap((group) => group.checks);
  const bad = checks.filter((check) => check.verdict === 'fail' || check.verdict === 'warn');
  const problems = bad.map((check) => `${check.verdict}: ${check.title}: ${check.message}`);
  return { value: undefined, result: `${checks.length} checks`, problems, mild: verdict !== 'fail' };
}

async function backedUp(request: RehearsalRequest, clock: Clock): Promise<StepOutcome<BackupReport>> {
  const { database, backupOutput: output, force, signal, onStage } = request;
  const value = await backupDatabase({ database, output, force, signal, onStage }, clock);
  return { value, result: `${value.rows} rows, schema version ${value.schema_version}` };
}

function migration(value: MigratedFile): StepOutcome<MigratedFile> {
  const { from_version, to_version, durations_ms } = value;
  if (durations_ms.length === 0)
    return { value, result: `no migrations needed; the schema has version ${to_version}` };
  const total = durations_ms.reduce((sum, ms) => sum + ms, 0);
  return { value, result: `version ${from_version} to ${to_version} in ${total} ms` };
}

function checked(copy: string): StepOutcome<void> {
  const { checks } = verifyDatabase(copy, 'copy');
  const problems = checks.flatMap((check) => check.problems);
  return { value: undefined, result: `${checks.length} checks`, problems };
}

function rowsKept(before: BackupReport['tables'], copy: string): StepOutcome<void> {
  const after = new Map(inspectDatabase(copy).tables.map(({ name, rows }) => [name, rows]));
  const problems = before
    .filter(({ name, rows }) => after.get(name) !== rows)
    .map(
      ({ name, rows }) =>
        `${name} had ${rows} rows and has ${after.get(name) ?? 'none: the table no longer exists'}.`,
    );
  const rows = before.reduce((sum, table) => sum + table.rows, 0);
  return { value: undefined, result: `${rows} rows in ${before.length} tables`, problems };
}

async function recordsRead(copy: string, deps: RehearsalDeps): Promise<StepOutcome<void>> {
  const there = inspectDatabase(copy).tables;
  const store = await openSqliteStore({ ...deps, path: copy, synchronous: 'normal', logger: SILENT });
  try {
    const read = await readAll(store);
    const problems = there
      .filter(({ name, rows }) => read[name] !== undefined && read[name] !== rows)
      .map(({ name, rows }) => `Of ${rows} rows of ${name}, ${read[name]} could be read.`);
    const count = Object.values(read).reduce((sum, records) => sum + records, 0);
    return { value: undefined, result: `${count} records`, problems };
  } finally {
    await store.close();
  }
}

const ignore = () => {};
export const SILENT: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => SILENT,
};

function instructions(
  ok: boolean,
  { database, output, version }: { database: string; output: string; version: string },
): Pick<RehearsalReport, 'upgrade' | 'way_back'> {
  if (!ok) return { upgrade: [], way_back: [] };
  const [from, to] = [shellWord(database), shellWord(output)];
  return {
    upgrade: [
      'Stop the service. Its sandboxes keep running.',
      `Back up the current database: svc db backup ${to} --database ${from} --force`,
      `Install version ${version} of svc on the machine of the service.`,
      'Start the service. It migrates the database before it accepts calls.',
      'Check the output of svc provider list, and check the log for warnings.',
    ],
    way_back: [
      'Stop the service.',
      `Restore with the currently installed version: svc db restore ${to} --database ${from} --yes`,
      'Install the previous version, and start the service.',
    ],
  };
}

// A folder for one run that nobody else may open, beside a file that the operator named, so that it has that file
// system's space and rights. The next run removes the folder of a killed one.
const START = '.svc-rehearsal-';

/** Runs `work` with an empty folder (0700) in `parent`, and removes it afterwards. */
export async function inPrivateFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(START) ? Number.parseInt(name.slice(START.length), 10) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(parent, `${START}${process.pid}-`));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
