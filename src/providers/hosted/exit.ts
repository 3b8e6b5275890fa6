// How a command ended, as the library reports it. The backend's agent is written in Go: it reports a signal as text, with
// the exit code -1 (https://pkg.go.dev/os#ProcessState.String, syscall.Signal.String of Linux).
import type { ExecExit } from '../../agent/io.ts';
import { signalName } from '../../agent/signals.ts';

/** Texts of the signals from 1 on. Others read `signal 34`. */
const SIGNAL_TEXTS = [
  'hangup|interrupt|quit|illegal instruction|trace/breakpoint trap|aborted|bus error|',
  'floating point exception|killed|user defined signal 1|segmentation fault|user defined signal 2|',
  'broken pipe|alarm clock|terminated|stack fault|child exited|continued|stopped (signal)|stopped|',
  'stopped (tty input)|stopped (tty output)|urgent I/O condition|CPU time limit exceeded|',
  'file size limit exceeded|virtual timer expired|profiling timer expired|window changed|',
  'I/O possible|power failure|bad system call',
]
  .join('')
  .split('|');
const LAST_SIGNAL = 64;
const DUMPED = ' (core dumped)';

/** `result` is a result of the library or its CommandExitError; returns undefined for anything else. */
export function exitOf(result: unknown): Omit<ExecExit, 'duration_ms'> | undefined {
  const { exitCode, error } = (result ?? {}) as { exitCode?: unknown; error?: unknown };
  if (!Number.isInteger(exitCode)) return undefined;
  const code = exitCode as number;
  if (code === -1) return killedBy(typeof error === 'string' ? error.slice(0, 128) : '');
  return code >= 0 && code <= 255 ? { exit_code: code, timed_out: false } : undefined;
}

/** The command has ended in any case: an unknown text counts as exit code 255. */
function killedBy(error: string): Omit<ExecExit, 'duration_ms'> {
  const number = signalIn(error);
  return number === undefined
    ? { exit_code: 255, timed_out: false }
    : { exit_code: 128 + number, signal: signalName(number), timed_out: false };
}

function signalIn(error: string): number | undefined {
  const [, text = ''] = /^signal: (.+)$/.exec(error) ?? [];
  const name = text.endsWith(DUMPED) ? text.slice(0, -DUMPED.length) : text;
  const number = SIGNAL_TEXTS.indexOf(name) + 1 || Number(/^signal (\d{1,2})$/.exec(name)?.[1] ?? 0);
  return number >= 1 && number <= LAST_SIGNAL ? number : undefined;
}
