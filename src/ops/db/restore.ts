// `svc db restore`: replaces a database that no server holds with a backup. Killed at any moment, the final name leads
// to the complete old or the complete new database; the last decisive operation is one rename.
import { existsSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { shellWord } from '../../domain/exec-request.ts';
import type { Clock } from '../../domain/ports.ts';
import { flush, type PartFile, partFile } from '../../host/part-file.ts';
import type { RestoreReport, VerifyReport } from '../../schema/db-report.ts';
import { acknowledgedFile } from '../../store/sqlite/acknowledged.ts';
import { checkpointDatabase } from '../../store/sqlite/checkpoint.ts';
import { type Counters, raiseCounters, readCounters } from '../../store/sqlite/counters.ts';
import { settlePath } from '../../store/sqlite/file.ts';
import { rowsOf } from '../../store/sqlite/inspect.ts';
import { acquireLock } from '../../store/sqlite/lock.ts';
import { forgetLoss } from '../../store/sqlite/loss-record.ts';
import { settleCopy } from '../../store/sqlite/online-copy.ts';
import { fileOf, isSameFile, walBytes } from '../../store/sqlite/reader.ts';
import { refuseAliases } from '../../store/sqlite/refuse-aliases.ts';
import { requireSound, type TaskOptions } from './backup.ts';
import { openChecker } from './checker.ts';
import { type Copied, copyHashed } from './copy-file.ts';
import { giveTo, keepSafe, ownerOf, SIDECARS } from './safety-copy.ts';
import { requireSpace } from './space.ts';

export interface RestoreRequest extends TaskOptions {
  input: string;
  database: string;
  /** Does everything that can fail but changes nothing. */
  dryRun?: boolean | undefined;
}

/**
 * Replaces `database` by the backup at `input` and keeps what was there beside it. Throws `conflict` (a server or
 * another program has the database open; the backup is of a newer version or of another program), `internal` (the
 * backup is damaged), `not_found`, `bad_request`, `resource_limit` 507, and the signal's reason; nothing is changed then.
 */
export async function restoreDatabase(request: RestoreRequest, clock: Clock): Promise<RestoreReport> {
  const started = clock.monotonic();
  const database = targetOf(request);
  const stamp = new Date(clock.now()).toISOString();
  const lock = acquireLock(database, stamp);
  try {
    if (existsSync(database)) await lock.holdFile();
    else refuseAliases(database);
    giveTo(`${database}.lock`, ownerOf(database));
    const report = await underLock({ ...request, input: resolve(request.input), database }, stamp);
    return { ...report, duration_ms: Math.round(clock.monotonic() - started) };
  } finally {
    lock.release();
  }
}

function targetOf({ input, database }: RestoreRequest): string {
  fileOf(input);
  const folder = dirname(resolve(database));
  if (!existsSync(folder))
    throw new ServiceError('not_found', 'The directory of the database does not exist.', {
      remedy: 'Create the directory for the user of the service.',
      details: { folder },
    });
  const path = settlePath(database);
  if (isSameFile(input, path))
    throw new ServiceError('bad_request', 'The backup and the database are the same file.', {
      remedy: 'Pass the backup as the argument and the database with --database.',
    });
  return path;
}

async function underLock(
  request: RestoreRequest,
  stamp: string,
): Promise<Omit<RestoreReport, 'duration_ms'>> {
  const { input, database, dryRun = false } = request;
  const present = existsSync(database) ? fileOf(database).size + walBytes(database) : 0;
  requireSpace(dirname(database), fileOf(input).size + present);
  const part = partFile(database);
  try {
    const { copied, verified } = await bringIn(request, part);
    const kept = dryRun ? { warnings: [] } : await replace({ ...request, part, stamp, verified });
    return {
      input,
      database,
      dry_run: dryRun,
      sha256: copied.sha256,
      size_bytes: copied.bytes,
      schema_version: verified.facts.schema_version,
      rows: rowsOf(verified.facts.tables),
      ...kept,
      warnings: [...logWarning(input), ...kept.warnings],
    };
  } finally {
    part.discard();
  }
}

/** The bytes of the one file are what is checked and installed: nothing that stands beside it is looked at. */
async function bringIn(
  request: RestoreRequest,
  part: PartFile,
): Promise<{ copied: Copied; verified: VerifyReport }> {
  const { input, signal, onStage } = request;
  const total = fileOf(input).size;
  onStage?.('copy', 0, total);
  const onBytes = (done: number) => onStage?.('copy', done, total);
  const checker = openChecker(total, 'rows', signal);
  try {
    const copied = await copyHashed(input, part.path, { signal, onBytes });
    onStage?.('check');
    const verified = requireSound(await checker.check(part.path), 'The backup failed its checks.');
    settleCopy(part.path);
    signal?.throwIfAborted();
    return { copied, verified };
  } finally {
    checker.close();
  }
}

async function isSound(path: string, signal: AbortSignal | undefined): Promise<boolean> {
  const checker = openChecker(fileOf(path).size, 'rows', signal);
  const { ok } = await checker.check(path).finally(checker.close);
  return ok;
}

interface Replacement extends RestoreRequest {
  part: PartFile;
  stamp: string;
  verified: VerifyReport;
}

type Kept = Pick<RestoreReport, 'safety_copy' | 'way_back' | 'warnings'>;

async function replace({ database, part, stamp, verified, signal, onStage }: Replacement): Promise<Kept> {
  const kept: Kept = { warnings: [] };
  giveTo(part.path, ownerOf(database));
  if (existsSync(database) || SIDECARS.some((end) => existsSync(database + end))) {
    onStage?.('fold');
    const isEmpty = !existsSync(database) || fileOf(database).size === 0;
    const state = isEmpty ? 'unreadable' : checkpointDatabase(database);
    onStage?.('keep');
    kept.safety_copy = await keepSafe({ database, state, stamp, signal });
    kept.warnings = state === 'folded' ? carryOver({ database, part, verified }) : [UNREADABLE];
    // A restore takes nothing back that does not pass its checks.
    if (state === 'folded' && (await isSound(kept.safety_copy, signal)))
      kept.way_back = `svc db restore ${shellWord(kept.safety_copy)} --database ${shellWord(database)} --yes`;
    else if (state === 'folded') kept.warnings.push(UNSOUND);
  }
  onStage?.('clear');
  // A log that is left would be read as part of whatever file has the name.
  for (const end of SIDECARS) rmSync(database + end, { force: true });
  rmSync(acknowledgedFile(database), { force: true });
  flush(dirname(database));
  onStage?.('install');
  part.publish(true);
  forgetLoss(database);
  return kept;
}

const UNREADABLE = 'The current database could not be opened. The safety copy contains its unchanged files.';

const UNSOUND =
  'The current database fails the checks of `svc db verify`. The safety copy is unchanged but cannot be restored.';

function carryOver({
  database,
  part,
  verified,
}: Pick<Replacement, 'database' | 'part' | 'verified'>): string[] {
  const counters: Counters | undefined = readCounters(database);
  if (!counters) return [];
  if (counters.instance !== verified.facts.instance)
    return [
      'The backup belongs to another instance. The service will not know or end the sandboxes that currently run.',
    ];
  raiseCounters(part.path, counters);
  return [];
}

function logWarning(input: string): string[] {
  if (walBytes(input) === 0) return [];
  return [
    'The restore ignored the write-ahead log next to the backup, because it is not part of the backup.',
  ];
}
