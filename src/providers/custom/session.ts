// A session with a sandbox at the backend, as SandboxIo.
import type { SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { BackendSession } from '../backends/backend-session.ts';
import type { RuntimeRef } from '../provider.ts';
import { startExec } from './exec.ts';
import { customFiles } from './files.ts';
import { type CustomState, findRuntime, stateOf } from './runtimes.ts';

/** Throws `unavailable` when the sandbox is not running. */
export async function attachRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  const runtime_id = await findRuntime(state, ref, signal);
  if (runtime_id === undefined) throw notRunning();
  await assertRunning(state, runtime_id, signal);
  const session = new BackendSession('custom', state.clock);
  state.sessions.add(runtime_id, session);
  return sessionIo(state, runtime_id, session);
}

function sessionIo(state: CustomState, runtime_id: string, session: BackendSession): SandboxIo {
  const { backend, clock } = state;
  const { end } = session;
  return {
    exec: (spec, signal) => startExec({ backend, clock, session, runtime_id }, spec, signal),
    execs: session.execs,
    files: customFiles({ backend, runtime_id, end }),
    ping: async (signal) => assertRunning(state, runtime_id, signal ?? end),
    ...session.common,
  };
}

async function assertRunning(state: CustomState, runtime_id: string, signal: AbortSignal): Promise<void> {
  if ((await stateOf(state, runtime_id, signal)) === 'running') return;
  state.sessions.end(runtime_id);
  throw notRunning();
}

function notRunning(): ServiceError {
  return new ServiceError('unavailable', 'The sandbox is not running at the custom backend.');
}
