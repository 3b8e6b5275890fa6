// The check of all pages at a start, after orderly stops, too: damage that no call has met yet would else be found by the
// callers, one by one. A small file is checked before anybody is served, and refused; of a large one it takes minutes, so
// its check runs apart, behind everything else, while the server serves.
import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { Clock, Logger } from '../../domain/ports.ts';
import { type CheckAnswer, startCheckProcess } from './check-process.ts';
import type { Condition } from './condition.ts';
import { damaged, storeFailure, unreadable } from './failures.ts';
import { walBytes } from './reader.ts';

/** Checked within a fifth of a second. */
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

/** What is found is noted in the condition. A read that fails is no finding, and is tried again. Never rejects. */
export async function checkInBackground({ path, condition, clock, logger, signal }: Checking): Promise<void> {
  const began = clock.monotonic();
  condition.isChecking = true;
  try {
    for (let tries = 1; ; tries += 1) {
      const failure = await attempt(path, signal);
      if (failure?.code !== 'unavailable' || tries === TRIES) {
        if (failure && failure.code !== 'unavailable') condition.remember(failure);
        const seconds = Math.round((clock.monotonic() - began) / 1000);
        if (!failure) logger.info({ seconds }, 'The check of the database is over: it is sound.');
        if (failure?.code === 'unavailable')
          logger.warn(
            { err: failure },
            'The check of the database could not be made; the next start makes it.',
          );
        return;
      }
      await clock.sleep(PAUSE_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) logger.warn({ err: error }, 'The check of the database could not be made.');
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

/** A page that could not be read is among the lines, with SQLite's result code; that of a failed read is 10 or extends it. */
const UNREAD = /error code=(\d+)/;
const IO_ERROR = 10;

function judge(lines: readonly string[]): void {
  if (lines.length === 1 && lines[0] === 'ok') return;
  const cause = new Error(lines.join('\n'));
  const codes = lines.map((line) => Number(UNREAD.exec(line)?.[1] ?? 0) & 0xff);
  throw codes.includes(IO_ERROR) ? unreadable(cause) : damaged(cause);
}
