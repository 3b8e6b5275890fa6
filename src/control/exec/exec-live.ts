// A command that its caller interacts with: input while it runs, a resizable terminal, signals. The WebSocket uses it.
import type { SandboxIo } from '../../agent/io.ts';
import type { Caller } from '../api/caller.ts';
import type { LiveExec, LiveRequest } from '../api/execs.ts';
import { attachTo, detachExec } from './detached.ts';
import { type ExecDeps, startExec } from './exec-start.ts';

/** Resolves when it runs. */
export async function openExec(
  deps: ExecDeps,
  id: string,
  request: LiveRequest,
  asked: { caller: Caller; signal: AbortSignal },
): Promise<LiveExec> {
  if (request.detach) return viewOfDetached(deps, id, request, asked);
  const { exec, io } = await startExec(deps, id, { ...request, keepStdin: true }, asked);
  return live(exec, io);
}

/** Starts the command detached, then follows it: when the caller disconnects, only the following ends. */
async function viewOfDetached(
  deps: ExecDeps,
  id: string,
  { encoding: _, ...request }: LiveRequest,
  asked: { caller: Caller; signal: AbortSignal },
): Promise<LiveExec> {
  const { exec_id } = await detachExec(deps, id, request, asked);
  const { exec, io } = await attachTo(deps, { id, exec_id }, true, asked);
  return live(exec, io);
}

function live(exec: Omit<LiveExec, 'signal'>, io: SandboxIo): LiveExec {
  const { exec_id, stdin, startsAtInputEnd, output, exit } = exec;
  return {
    exec_id,
    stdin,
    ...(startsAtInputEnd && { startsAtInputEnd }),
    output,
    exit,
    resize: (rows, cols) => exec.resize(rows, cols),
    signal: (name) => io.execs.signal(exec_id, name),
  };
}
