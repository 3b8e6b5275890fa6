// A session with a hosted sandbox, as SandboxIo.
import type { Sandbox } from 'e2b';
import type { SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { BackendSession } from '../backends/backend-session.ts';
import type { RuntimeRef } from '../provider.ts';
import { type ExecContext, startExec } from './exec.ts';
import { hostedExecs, startDetached } from './execs.ts';
import { hostedFiles } from './files.ts';
import { detachedOf, findRuntime, type HostedState, runtimeEnded, stateOf } from './runtimes.ts';

const COMMAND_MS = 30_000;

/** Throws `unavailable` when the sandbox is not running; a paused one is not resumed. */
export async function attachRuntime(
  state: HostedState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  const runtime_id = await findRuntime(state, ref, signal);
  if (runtime_id === undefined || (await stateOf(state, runtime_id, signal)) !== 'running')
    throw notRunning();
  const sandbox = await state.library.run(
    ({ Sandbox }, options) => Sandbox.connect(runtime_id, { ...options, signal }),
    signal,
  );
  const session = new BackendSession('hosted', state.clock);
  state.sessions.add(runtime_id, session);
  return sessionIo(state, { runtime_id, session, sandbox });
}

interface OpenSandbox {
  runtime_id: string;
  session: BackendSession;
  sandbox: Sandbox;
}

function sessionIo(state: HostedState, { runtime_id, session, sandbox }: OpenSandbox): SandboxIo {
  const { library, clock, random } = state;
  const detached = detachedOf(state, runtime_id, sandbox);
  void detached.resume(session.end);
  const place = { library, clock, session, sandbox, pids: new Map<string, number>() };
  const exec: SandboxIo['exec'] = (spec, signal) =>
    spec.detach ? startDetached(detached, spec) : startExec(place, spec, signal);
  const run = runner(hidden(place));
  return {
    exec,
    execs: hostedExecs({ ...place, detached, run }),
    files: hostedFiles({ library, random, sandbox, end: session.end, run }),
    ping: async (signal) => {
      if ((await stateOf(state, runtime_id, signal ?? session.end)) === 'running') return;
      runtimeEnded(state, runtime_id);
      throw notRunning();
    },
    ...session.common,
  };
}

/** A context whose commands are neither listed nor found as execs. They end with the session. */
function hidden(place: ExecContext): ExecContext {
  const { end } = place.session;
  return { ...place, session: { end, keep: (_, exec) => exec }, pids: new Map() };
}

/** Runs a small command to its end, for operations that the library lacks. */
function runner(place: ExecContext) {
  return async (argv: string[], signal?: AbortSignal) => {
    const spec = { exec_id: 'files', argv, label: 'files', env: {}, workdir: '/', timeoutMs: COMMAND_MS };
    const running = startExec(place, spec, signal);
    let stdout = '';
    for await (const { channel, data } of running.output) if (channel === 'stdout') stdout += data.toString();
    return { stdout, ...(await running.exit) };
  };
}

function notRunning(): ServiceError {
  return new ServiceError('unavailable', 'The sandbox is not running at the hosted backend.');
}
