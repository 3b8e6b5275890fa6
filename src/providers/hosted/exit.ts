// How a command ended, from what the library says. The program inside the sandbox that runs commands is in Go: it tells a
// signal in words, beside the exit code -1 (https://pkg.go.dev/os#ProcessState.ExitCode, syscall.Signal.String).
import type { ExecExit } from '../../agent/io.ts';

const SIGNALS: Record<string, readonly [name: string, number: number]> = {
  hangup: ['SIGHUP', 1],
  interrupt: ['SIGINT', 2],
  quit: ['SIGQUIT', 3],
  'illegal instruction': ['SIGILL', 4],
  'trace/breakpoint trap': ['SIGTRAP', 5],
  aborted: ['SIGABRT', 6],
  'bus error': ['SIGBUS', 7],
  'floating point exception': ['SIGFPE', 8],
  killed: ['SIGKILL', 9],
  'user defined signal 1': ['SIGUSR1', 10],
  'segmentation fault': ['SIGSEGV', 11],
  'user defined signal 2': ['SIGUSR2', 12],
  'broken pipe': ['SIGPIPE', 13],
  'alarm clock': ['SIGALRM', 14],
  terminated: ['SIGTERM', 15],
};

/** `said` is a result of the library or its CommandExitError; undefined for what is neither. */
export function exitOf(said: unknown): Omit<ExecExit, 'duration_ms'> | undefined {
  const { exitCode, error } = (said ?? {}) as { exitCode?: unknown; error?: unknown };
  if (!Number.isInteger(exitCode)) return undefined;
  const words = /^signal: ([a-z0-9/ ]{1,32})/.exec(String(error))?.[1] ?? '';
  const [signal, number] = (Object.hasOwn(SIGNALS, words) && SIGNALS[words]) || [];
  if (exitCode === -1 && signal !== undefined && number !== undefined)
    return { exit_code: 128 + number, signal, timed_out: false };
  const code = exitCode as number;
  return code >= 0 && code <= 255 ? { exit_code: code, timed_out: false } : undefined;
}
