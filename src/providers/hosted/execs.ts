// The execs of a hosted sandbox as SandboxIo: those of this session, and the detached ones, which outlive it.
import { noStdin } from '../../agent/exec-stdin.ts';
import type { Exec, ExecExit, ExecSpec, SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { abortable } from '../../domain/timeout.ts';
import { type BackendSession, unsupported } from '../backends/backend-session.ts';
import type { DetachedExec, DetachedExecs } from './detached.ts';

const KILL_AFTER_MS = 2000;
/** The library only sends KILL; a shell in the sandbox sends any signal, to the process group where the program leads one. */
const KILLING =
  'kill -l "$1" >/dev/null 2>&1 || exit 2; kill -s "$1" -- "-$2" 2>/dev/null || kill -s "$1" -- "$2" 2>/dev/null || exit 1';
const RUNS_ON: ExecExit = { exit_code: -1, timed_out: false, duration_ms: 0 };

interface ExecsContext {
  clock: Clock;
  session: BackendSession;
  detached: DetachedExecs;
  pids: ReadonlyMap<string, number>;
  /** Runs a command to its end. */
  run(argv: string[], signal?: AbortSignal): Promise<{ exit_code: number }>;
}

export function hostedExecs(place: ExecsContext): SandboxIo['execs'] {
  const { detached, session } = place;
  return {
    list: async (signal) => [...(await session.execs.list()), ...(await detached.list(signal))],
    attach: async (exec_id, isFollowed, signal) => {
      if (place.pids.has(exec_id))
        throw new ServiceError(
          'bad_request',
          'This exec is not detached: its output goes to the client that started it.',
        );
      const found = await detached.find(exec_id, signal);
      if (!found) throw unknown();
      return view(place, found, { isFollowed, signal });
    },
    signal: (exec_id, name) => sendSignal(place, exec_id, name),
  };
}

/** Never throws. `exit` reports a running command; attach to the exec to read its output. */
export function startDetached(detached: DetachedExecs, spec: ExecSpec): Exec {
  const started = spec.pty
    ? Promise.reject(unsupported('hosted', 'detached terminals'))
    : detached.start(spec);
  const exit = started.then(() => RUNS_ON);
  exit.catch(() => undefined);
  return {
    exec_id: spec.exec_id,
    started,
    exit,
    stdin: noStdin,
    output: nothing(started),
    kill: () => undefined,
    resize: noTerminal,
  };
}

async function* nothing(started: Promise<void>): AsyncGenerator<never> {
  await started.catch(() => undefined);
}

interface AttachOptions {
  isFollowed: boolean;
  signal: AbortSignal | undefined;
}

/** A view of a detached command. Closing it leaves the command running; kill() ends the command. */
function view(
  place: ExecsContext,
  { record, tail, exit }: DetachedExec,
  { isFollowed, signal }: AttachOptions,
) {
  const { session, clock } = place;
  const until = signal ? AbortSignal.any([session.end, signal]) : session.end;
  const { exec_id } = record;
  const isOver = isFollowed || record.state === 'exited';
  const result = isOver ? abortable(exit, until) : Promise.resolve(RUNS_ON);
  result.catch(() => undefined);
  return {
    exec_id,
    truncated: tail.truncated,
    started: Promise.resolve(),
    stdin: noStdin,
    output: tail.read(isFollowed, until),
    exit: result,
    resize: noTerminal,
    kill: () => {
      const send = (name: string) => void sendSignal(place, exec_id, name).catch(() => undefined);
      send('SIGTERM');
      clock.after(KILL_AFTER_MS, () => send('SIGKILL'));
    },
  };
}

async function sendSignal(place: ExecsContext, exec_id: string, name: string): Promise<void> {
  const { session, detached, pids, run } = place;
  const pid = pids.get(exec_id) ?? (await running(detached, exec_id, session.end));
  const words = ['bash', '-c', KILLING, 'bash', name.replace(/^SIG/, ''), String(pid)];
  const { exit_code } = await run(words, session.end);
  if (exit_code === 2) throw new ServiceError('bad_request', 'There is no such signal in the sandbox.');
  if (exit_code !== 0) throw new ServiceError('not_found', 'The command has ended already.');
}

async function running(detached: DetachedExecs, exec_id: string, signal: AbortSignal): Promise<number> {
  const found = await detached.find(exec_id, signal);
  if (found?.record.state === 'running') return found.pid;
  if (found) throw new ServiceError('not_found', 'The command has ended already.');
  throw unknown();
}

async function noTerminal(): Promise<never> {
  throw new ServiceError('bad_request', 'This command has no terminal.');
}

function unknown(): ServiceError {
  return new ServiceError('not_found', 'There is no such exec in the sandbox.');
}
