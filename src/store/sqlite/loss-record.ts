// Acknowledged writes that are gone, remembered beside the database until an operator accepts it: a small file, since what
// is missing may be anything in the database itself.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import type { DatabaseLoss } from '../../schema/db-report.ts';

export const lossFile = (path: string) => `${path}.loss`;

export function keepLoss(path: string, loss: DatabaseLoss): void {
  writeFileSync(lossFile(path), `${JSON.stringify(loss)}\n`, { mode: 0o600 });
}

/** Undefined when nothing is missing or it was accepted. */
export function readLoss(path: string): ServiceError | undefined {
  const loss = lossOf(path);
  if (!loss) return undefined;
  return new ServiceError(
    'internal',
    `Acknowledged writes are missing since ${loss.found_at}: ${LOGS[loss.log]}`,
    {
      remedy: 'Restore a newer backup if there is one; else accept it with `svc db accept`.',
    },
  );
}

const STAMP = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const UNKNOWN: DatabaseLoss = { found_at: 'an unknown time', log: 'missing' };

/** A file that cannot be read says that something was missing, too. */
export function lossOf(path: string): DatabaseLoss | undefined {
  try {
    const { found_at = '', log } = JSON.parse(readFileSync(lossFile(path), 'utf8')) as Partial<DatabaseLoss>;
    const isKnown = STAMP.test(found_at) && log !== undefined && Object.hasOwn(LOGS, log);
    return isKnown ? { found_at, log } : UNKNOWN;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : UNKNOWN;
  }
}

export function forgetLoss(path: string): void {
  rmSync(lossFile(path), { force: true });
}

const LOGS: Record<DatabaseLoss['log'], string> = {
  missing:
    'the log beside the database was gone after an unclean stop, removed or folded in by another program.',
  cut: 'the log beside the database had lost its end after an unclean stop.',
  foreign: 'another log stood beside the database after an unclean stop.',
};
