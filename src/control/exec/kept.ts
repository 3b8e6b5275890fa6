// Commands that live on without their caller and without this server (agent/PROTOCOL.md, `resume`). The agent keeps them, and what
// is to be known of them.
import { ServiceError } from '../../domain/errors.ts';
import type { Caller } from '../api/caller.ts';
import type { KeptItem } from '../api/execs.ts';
import { type ExecCall, type ExecDeps, noteEnd, type StartedExec } from './exec-start.ts';

/** None where the sandbox keeps none. */
export async function keptExecs(
  { access }: Pick<ExecDeps, 'access'>,
  id: string,
  { caller, signal }: ExecCall,
): Promise<KeptItem[]> {
  const row = await access.find(id, caller);
  return access.use(row, signal, async (io) => (await io.execs.kept?.(signal)) ?? []);
}

/** The session is held until the command has ended or `signal` aborts. Throws `not_found`. */
export async function resumeExec(
  { access, publisher }: Pick<ExecDeps, 'access' | 'publisher'>,
  { id, exec_id }: { id: string; exec_id: string },
  { caller, signal }: { caller: Caller; signal: AbortSignal },
): Promise<StartedExec & { truncated: boolean }> {
  const row = await access.find(id, caller);
  const held = await access.open(row, signal);
  try {
    const exec = await held.io.execs.resume?.(exec_id, signal);
    if (!exec) throw new ServiceError('not_found', 'There is no such exec in the sandbox.');
    exec.exit.then((exit) => {
      noteEnd({ publisher, row, by: caller.actor }, exec_id, exit);
      held.release();
    }, held.release);
    return { sandbox_id: id, exec, io: held.io, encoding: 'utf8', truncated: exec.truncated };
  } catch (error) {
    held.release(error);
    throw error;
  }
}
