// `svc db backup`: an online copy that is checked before it gets its name. Killed at any moment, the output is either
// unchanged or the complete backup.
import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { type PartFile, partFile, refuseTaken } from '../../host/part-file.ts';
import type { BackupReport, VerifyReport } from '../../schema/db-report.ts';
import { lockInode } from '../../store/sqlite/inode-lock.ts';
import { rowsOf } from '../../store/sqlite/inspect.ts';
import { copyOnline } from '../../store/sqlite/online-copy.ts';
import { fileOf, isSameFile, walBytes } from '../../store/sqlite/reader.ts';
import { type Checker, openChecker } from './checker.ts';
import { hashFile } from './copy-file.ts';
import { requireSpace } from './space.ts';

export interface BackupRequest extends TaskOptions {
  database: string;
  output: string;
  /** Replaces an output that is there. */
  force?: boolean | undefined;
}

/**
 * Writes a checked copy of the database, which may be in use, to `output` (mode 0600). The source is not changed. Throws
 * `conflict` (the output is there; the database is empty), `not_found`, `resource_limit` 507, `internal` (the copy does
 * not pass its checks: nothing is written), and the signal's reason.
 */
export async function backupDatabase(request: BackupRequest, clock: Clock): Promise<BackupReport> {
  const started = clock.monotonic();
  const output = resolve(request.output);
  if (!request.force && existsSync(output)) throw refuseTaken(output);
  const release = await holdTarget(request.database, output);
  try {
    const report = await intoPart({ ...request, output });
    return { ...report, output, duration_ms: Math.round(clock.monotonic() - started) };
  } finally {
    release();
  }
}

async function intoPart(request: BackupRequest): Promise<Made> {
  const { database, output, signal, force = false } = request;
  const bytes = fileOf(database).size + walBytes(database);
  requireSpace(dirname(output), bytes);
  const part = partFile(output);
  const checker = openChecker(bytes, 'copy', signal);
  try {
    const report = await makeBackup(request, part, checker);
    part.publish(force);
    return report;
  } finally {
    checker.close();
    part.discard();
  }
}

type Made = Omit<BackupReport, 'output' | 'duration_ms'>;

async function makeBackup(
  { database, signal, onStage }: BackupRequest,
  part: PartFile,
  checker: Checker,
): Promise<Made> {
  const path = resolve(database);
  onStage?.('copy');
  await copyOnline(path, part.path, { signal, onBytes: (done, total) => onStage?.('copy', done, total) });
  onStage?.('check');
  const [report, { bytes, sha256 }] = await Promise.all([
    checker.check(part.path),
    hashFile(part.path, { signal }),
  ]);
  const { facts } = requireSound(report, 'The backup failed its checks.');
  onStage?.('install');
  return {
    database: path,
    size_bytes: bytes,
    sha256,
    schema_version: facts.schema_version,
    instance: facts.instance ?? '',
    rows: rowsOf(facts.tables),
    tables: facts.tables,
  };
}

/** `report` itself when all checks passed. */
export function requireSound(report: VerifyReport, words: string): VerifyReport {
  if (report.ok) return report;
  const problems = report.checks.flatMap((check) => check.problems);
  throw new ServiceError(isForeign(report) ? 'conflict' : 'internal', words, {
    remedy: remedyFor(report),
    details: { problems },
  });
}

const remedyFor = ({ checks }: VerifyReport) =>
  checks.at(-1)?.id === 'rows'
    ? 'Correct or delete these rows with sqlite3 in a copy of the file, and use the copy. Nothing was changed.'
    : 'Run `svc db verify` for details. Nothing was changed.';

const isForeign = ({ checks }: VerifyReport) =>
  checks.some(({ id, problems }) => id === 'identity' && problems.length > 0);

/**
 * Locks the file at `output`, if there is one, so that no server starts with it; the returned function unlocks it. Throws
 * `conflict` if a server uses it or a log lies beside it, `bad_request` if it is the database itself.
 */
export async function holdTarget(database: string, output: string): Promise<() => void> {
  if (isSameFile(database, output))
    throw new ServiceError('bad_request', 'The output and the database are the same file.', {
      remedy: 'Use another file.',
    });
  if (walBytes(output) > 0)
    throw new ServiceError(
      'conflict',
      'The output has a write-ahead log, so it is or was a database in use.',
      {
        remedy: 'Use another file. To replace a database, run `svc db restore`.',
        details: { file: `${output}-wal` },
      },
    );
  return existsSync(output) ? lockInode(output) : () => {};
}

export type Stage =
  | 'copy'
  | 'rows'
  | 'compare'
  | 'check'
  | 'fold'
  | 'keep'
  | 'clear'
  | 'install'
  | 'migrate'
  | 'load';

/** Called when a stage starts and, with its progress, in bytes or, for `rows` and `compare`, in rows. */
export type OnStage = (stage: Stage, done?: number, total?: number) => void;

export interface TaskOptions {
  signal?: AbortSignal | undefined;
  onStage?: OnStage | undefined;
}
