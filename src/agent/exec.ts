// A command started by us, as the `Exec` of io.ts. It belongs to its stream: a cancel or the session's end kills it.

import { ERRNO } from './errno.ts';
import { execArguments } from './exec-arguments.ts';
import { readExit } from './exec-exit.ts';
import { execOutput } from './exec-output.ts';
import { noStdin, openStdin } from './exec-stdin.ts';
import { resizeExec } from './execs.ts';
import type { Exec, ExecExit, ExecSpec } from './io.ts';
import type { Requests } from './requests.ts';
import { Cancelled } from './stream.ts';

/** The agent keeps an exec's deadline, and needs up to 2 s to kill; after this much more it is not believed. */
const BACKSTOP_MS = 5000;
const WORDS = { [ERRNO.ENOENT]: 'The workdir does not exist in the sandbox.' };
const KEYED_WORDS = {
  ...WORDS,
  [ERRNO.EEXIST]: 'This Idempotency-Key was used with another request.',
  // All else that it refuses so is refused before it is sent.
  [ERRNO.EINVAL]: 'This sandbox was started by a version that keeps no Idempotency-Key.',
};

/** Starts a program. Never throws: what cannot be started rejects `started` and `exit`. */
export function startExec(requests: Requests, spec: ExecSpec, signal?: AbortSignal): Exec {
  const startedAt = requests.clock.monotonic();
  const args = () => execArguments(spec);
  const stream = requests.open(
    'exec',
    {
      args,
      channels: [1, 2],
      starts: true,
      decode: readExit,
      words: spec.body === undefined ? WORDS : KEYED_WORDS,
    },
    signal,
  );
  if (spec.timeoutMs) stream.within(spec.timeoutMs + BACKSTOP_MS, requests.clock, 'exec');
  requests.keepAlive(stream, 'exec');
  const exit = stream.result.catch((error: unknown) => {
    if (error instanceof Cancelled) return killed(requests.clock.monotonic() - startedAt);
    throw error;
  });
  exit.catch(() => undefined);
  return {
    exec_id: spec.exec_id,
    started: stream.started,
    stdin: spec.stdin ? openStdin(stream) : noStdin,
    output: execOutput(requests, stream.incoming),
    exit,
    kill: () => stream.askToEnd(),
    resize: (rows, cols) => resizeExec(requests, spec.exec_id, { rows, cols }),
    pid: () => stream.pid || undefined,
    isRepeat: () => !stream.hasStarted,
  };
}

/** The agent answers a killed exec without its exit status: KILL is what makes sure of it. */
function killed(duration: number): ExecExit {
  return { exit_code: 137, signal: 'SIGKILL', timed_out: false, duration_ms: Math.round(duration) };
}
