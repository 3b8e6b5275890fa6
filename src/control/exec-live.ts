// A command that its caller talks to: input while it runs, a terminal that changes its size, signals. The writers of the
// WebSocket stand on this.
import type { Caller, LiveExec, LiveRequest } from './control-plane.ts';
import { detachExec } from './detached.ts';
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
  return live(exec, (name) => io.execs.signal(exec.exec_id, name));
}

/** Started on its own, then followed: the caller's leaving ends the following. */
async function viewOfDetached(
  { reach, ...deps }: ExecDeps,
  id: string,
  request: LiveRequest,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Promise<LiveExec> {
  const { encoding: _, ...rest } = request;
  const { exec_id } = await detachExec({ ...deps, reach }, id, rest, { caller, signal });
  const held = await reach.open(await reach.find(id, caller), signal);
  try {
    const exec = await held.io.execs.attach(exec_id, true, signal);
    exec.exit.then(
      () => held.release(),
      (error: unknown) => held.release(error),
    );
    return live(exec, (name) => held.io.execs.signal(exec_id, name));
  } catch (error) {
    held.release(error);
    throw error;
  }
}

function live(exec: Omit<LiveExec, 'signal'>, signal: (name: string) => Promise<void>): LiveExec {
  const { exec_id, stdin, output, exit } = exec;
  return { exec_id, stdin, output, exit, resize: (rows, cols) => exec.resize(rows, cols), signal };
}
