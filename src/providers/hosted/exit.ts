// How a command ended, from what the library says. The program inside the sandbox that runs commands is in Go: it tells a
// signal in words, beside the exit code -1 (https://pkg.go.dev/os#ProcessState.String, syscall.Signal.String of Linux).
import type { ExecExit } from '../../agent/io.ts';
import { signalName } from '../../agent/signals.ts';

/** Of the signals from 1 on. Those without words of their own read `signal 34`. */
const SIGNAL_TEXTS = [
  ...['hangup', 'interrupt', 'quit', 'illegal instruction', 'trace/breakpoint trap', 'aborted', 'bus error'],
  ...['floating point exception', 'killed', 'user defined signal 1', 'segmentation fault'],
  ...['user defined signal 2', 'broken pipe', 'alarm clock', 'terminated', 'stack fault', 'child exited'],
  ...['continued', 'stopped (signal)', 'stopped', 'stopped (tty input)', 'stopped (tty output)'],
  ...['urgent I/O condition', 'CPU time limit exceeded', 'file size limit exceeded', 'virtual timer expired'],
  ...['profiling timer expired', 'window changed', 'I/O possible', 'power failure', 'bad system call'],
];
const LAST_SIGNAL = 64;
const DUMPED = ' (core dumped)';

/** `said` is a result of the library or its CommandExitError; undefined for what is neither. */
export function exitOf(said: unknown): Omit<ExecExit, 'duration_ms'> | undefined {
  const { exitCode, error } = (said ?? {}) as { exitCode?: unknown; error?: unknown };
  if (!Number.isInteger(exitCode)) return undefined;
  const code = exitCode as number;
  if (code === -1) return killedBy(typeof error === 'string' ? error.slice(0, 128) : '');
  return code >= 0 && code <= 255 ? { exit_code: code, timed_out: false } : undefined;
}

/** It has ended, whatever the words: without a signal that we know it has failed as a program does that exits with -1. */
function killedBy(error: string): Omit<ExecExit, 'duration_ms'> {
  const number = signalIn(error);
  return number === undefined
    ? { exit_code: 255, timed_out: false }
    : { exit_code: 128 + number, signal: signalName(number), timed_out: false };
}

function signalIn(error: string): number | undefined {
  const [, said = ''] = /^signal: (.+)$/.exec(error) ?? [];
  const words = said.endsWith(DUMPED) ? said.slice(0, -DUMPED.length) : said;
  const number = SIGNAL_TEXTS.indexOf(words) + 1 || Number(/^signal (\d{1,2})$/.exec(words)?.[1] ?? 0);
  return number >= 1 && number <= LAST_SIGNAL ? number : undefined;
}
