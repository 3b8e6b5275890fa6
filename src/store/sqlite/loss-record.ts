// Records lost acknowledged writes beside the database until an operator accepts the loss: a separate file, because
// anything in the database itself may be missing.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import type { DatabaseLoss } from '../../schema/db-report.ts';

export const lossFile = (path: string) => `${path}.loss`;

export function keepLoss(path: string, loss: DatabaseLoss): void {
  writeFileSync(lossFile(path), `${JSON.stringify(loss)}\n`, { mode: 0o600 });
}

/** Undefined if nothing is missing or the loss was accepted. */
export function readLoss(path: string): ServiceError | undefined {
  const loss = lossOf(path);
  if (!loss) return undefined;
  return new ServiceError(
    'internal',
    `Acknowledged writes have been missing since ${loss.found_at}: ${LOGS[loss.log]}`,
    {
      remedy: 'Restore a newer backup, or accept the loss with `svc db accept`.',
    },
  );
}

const STAMP = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const UNKNOWN: DatabaseLoss = { found_at: 'an unknown time', log: 'missing' };

/** An unreadable file also means that something was missing. */
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
    'the write-ahead log was missing after an unclean shutdown because another program removed or checkpointed it.',
  cut: 'the write-ahead log was truncated after an unclean shutdown.',
  foreign: 'a different write-ahead log was found after an unclean shutdown.',
};
