// Checks all pages at every start, since damage would otherwise surface in single calls. A small file is checked before
// serving and refused if damaged. A large file takes minutes, so a separate process checks it while the server serves.
import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { Clock, Logger } from '../../domain/ports.ts';
import { damaged } from '../failures.ts';
import { type CheckAnswer, startCheckProcess } from './check-process.ts';
import type { Condition } from './condition.ts';
import { storeFailure, unreadable } from './failures.ts';
import { walBytes } from './reader.ts';

/** Takes up to 0.2 s. */
const AT_ONCE_BYTES = 8 * 1024 * 1024;
const CHECK = 'quick_check(1)';
const NICE = 10;
const TRIES = 3;
const PAUSE_MS = 5000;

export const isCheckedNow = (path: string) => statSync(path).size + walBytes(path) <= AT_ONCE_BYTES;

/** Throws `internal` for a damaged file, `unavailable` for one that cannot be read. */
export function checkNow(db: Database): void {
  judge(db.prepare<[], string>(`PRAGMA ${CHECK}`).pluck().all());
}

export interface Checking {
  path: string;
  condition: Condition;
  clock: Clock;
  logger: Logger;
  /** Ends the check. */
  signal: AbortSignal;
}

/** Records findings in the condition. A failed read is not a finding and is retried. Never rejects. */
export async function checkInBackground({ path, condition, clock, logger, signal }: Checking): Promise<void> {
  const began = clock.monotonic();
  condition.isChecking = true;
  try {
    for (let tries = 1; ; tries += 1) {
      const failure = await attempt(path, signal);
      if (failure?.code !== 'unavailable' || tries === TRIES) {
        if (failure && failure.code !== 'unavailable') condition.remember(failure);
        const seconds = Math.round((clock.monotonic() - began) / 1000);
        if (!failure) logger.info({ seconds }, 'Database check passed.');
        if (failure?.code === 'unavailable')
          logger.warn({ err: failure }, 'Database check failed to run; the next start repeats it.');
        return;
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted)
      logger.warn({ err: error }, 'Database check failed to run; the next start repeats it.');
  } finally {
    condition.isChecking = false;
  }
}

async function attempt(path: string, signal: AbortSignal) {
  const answer = await startCheckProcess(CHECK, signal, NICE).ask(path);
  try {
    judgeAnswer(answer);
    return undefined;
  } catch (error) {
    return storeFailure(error);
  }
}

function judgeAnswer(answer: CheckAnswer | undefined): void {
  if (!answer) throw unreadable(new Error('the check gave no answer'));
  if ('code' in answer && answer.code.startsWith('SQLITE_CORRUPT')) throw damaged(new Error(answer.message));
  if ('code' in answer) throw Object.assign(new Error(answer.message), { code: answer.code });
  judge(answer.lines);
}

/** An unreadable page is among the lines, with SQLite's result code; the code of a failed read is 10 or extends it. */
const UNREAD = /error code=(\d+)/;
const IO_ERROR = 10;

function judge(lines: readonly string[]): void {
  if (lines.length === 1 && lines[0] === 'ok') return;
  const cause = new Error(lines.join('\n'));
  const codes = lines.map((line) => Number(UNREAD.exec(line)?.[1] ?? 0) & 0xff);
  throw codes.includes(IO_ERROR) ? unreadable(cause) : damaged(cause);
}
