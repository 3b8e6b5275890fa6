// From an exec request to what runs in the sandbox (docs/design/api.md#execs). No shell of ours ever sees the words: in
// shell mode the sandbox's own `sh -c` gets the line, with quoted arguments appended.
import type { ExecRequest } from '../schema/exec.ts';
import { formatDuration, MAX_DURATION_MS, parseFineDuration } from './duration.ts';
import { ServiceError } from './errors.ts';

const LABEL_CHARACTERS = 256;

/** What a command that its deadline ended has for an exit code, as with timeout(1). */
export const TIMED_OUT = 124;

/** The text on stderr when a deadline ends a command. */
export function timeoutNotice(sandbox_id: string): string {
  return `exec timeout: ${sandbox_id}\n`;
}

/** The failure of a command that its deadline ended, for callers who wait for the result. `details` holds the output so far. */
export function deadlineFailure<Output>(details: {
  exec_id: string;
  stdout: Output;
  stderr: Output;
}): ServiceError {
  return new ServiceError('timeout', 'The command did not end within its timeout and was killed.', {
    remedy: 'Ask for a longer timeout, or stream the output.',
    details,
  });
}

export interface ExecTimeouts {
  defaultMs: number;
  maxMs: number;
  /** The owner's own maximum, where it has one. */
  ownMs?: number | undefined;
}

/** Program and arguments. Throws `bad_request` for a blank command and for NUL, which no program can be given. */
export function execArgv({ command, mode = 'shell', args = [] }: ExecRequest): string[] {
  if (command.trim() === '')
    throw new ServiceError('bad_request', 'command is empty.', { remedy: 'Set command to what to run.' });
  refuseNul('command', [command]);
  refuseNul('args', args);
  if (mode === 'argv') return [command, ...args];
  return ['sh', '-c', [command, ...args.map(quoteWord)].join(' ')];
}

/** `word` such that a POSIX shell takes it as one word, whatever it holds. */
export function quoteWord(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** `word` as people type it in a shell: quoted only where it has to be. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoteWord(word);
}

/** The full name of a signal, which may come without SIG and in any case. Whether there is one is not checked. */
export function signalWord(name: string): string {
  const upper = name.toUpperCase();
  return upper.startsWith('SIG') ? upper : `SIG${upper}`;
}

/** What a listing shows of a command: its beginning. */
export function execLabel(command: string): string {
  return command.slice(0, LABEL_CHARACTERS);
}

/** The sandbox's environment under the request's own. */
export function execEnv(
  sandbox: Record<string, string>,
  request: Record<string, string> = {},
): Record<string, string> {
  const env = { ...sandbox, ...request };
  checkEnv(env);
  return env;
}

/** Throws `bad_request` for values with NUL. */
export function checkEnv(env: Record<string, string>): void {
  refuseNul('env', Object.values(env));
}

/** The deadline in ms: omitted is the default, `0s` the maximum; over the maximum throws `resource_limit`. */
export function execTimeoutMs(timeout: string | undefined, { defaultMs, maxMs }: ExecTimeouts): number {
  const most = maxMs > 0 ? maxMs : MAX_DURATION_MS;
  if (timeout === undefined) return Math.min(defaultMs > 0 ? defaultMs : most, most);
  const ms = parseFineDuration(timeout, 'timeout');
  if (ms > most)
    throw new ServiceError('resource_limit', 'timeout is over the maximum.', {
      remedy: `Use at most ${formatDuration(most)}.`,
      details: { reason: 'max_exec_timeout', max_exec_timeout: formatDuration(most) },
    });
  return ms === 0 ? most : ms;
}

/**
 * The same for a command that may run without a waiting caller. It has no deadline (0) unless it names one: a default
 * that kills a development server or a shell in use would not help. The owner's maximum bounds it all the same.
 */
export function lastingTimeoutMs(timeout: string | undefined, timeouts: ExecTimeouts): number {
  return timeout === undefined ? (timeouts.ownMs ?? 0) : execTimeoutMs(timeout, timeouts);
}

/** A deadline that somebody else keeps, too: 0 is none, and the owner's own maximum bounds it. */
export function boundedDeadlineMs(ms: number, { ownMs = 0 }: Pick<ExecTimeouts, 'ownMs'>): number {
  if (ownMs === 0) return ms;
  return ms === 0 ? ownMs : Math.min(ms, ownMs);
}

function refuseNul(field: string, texts: readonly string[]): void {
  if (texts.some((text) => text.includes('\0')))
    throw new ServiceError('bad_request', `${field} holds a NUL character.`, { remedy: 'Remove it.' });
}
