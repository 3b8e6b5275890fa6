// Commands in sandboxes: one answer, lines while it runs, or left running on its own.
import type { Clock } from '../../domain/ports.ts';
import type { Execs } from '../plane/execs.ts';
import { detachExec, detachedOutput, findExec, listExecs, signalExec } from './detached.ts';
import { execLines } from './exec-lines.ts';
import { openExec } from './exec-live.ts';
import { execResult } from './exec-run.ts';
import { type ExecDeps, startExec } from './exec-start.ts';

export function execs(deps: ExecDeps & { clock: Clock }): Execs {
  return {
    run: async (id, request, caller, signal) => {
      try {
        const started = await startExec(deps, id, request, { caller, signal });
        return await execResult(started, deps.settings.exec.maxOutputBytes);
      } catch (error) {
        throw await deps.reach.why(id, error);
      }
    },
    stream: async (id, request, caller, signal) =>
      execLines(await startExec(deps, id, request, { caller, signal }), { clock: deps.clock, signal }),
    open: (id, request, caller, signal) => openExec(deps, id, request, { caller, signal }),
    detach: (id, request, caller, signal) => detachExec(deps, id, request, { caller, signal }),
    list: (id, caller, signal) => listExecs(deps, id, { caller, signal }),
    get: (id, exec_id, caller, signal) => findExec(deps, { id, exec_id }, { caller, signal }),
    output: (target, query, caller, signal) => detachedOutput(deps, target, query, { caller, signal }),
    signal: (target, name, caller) => signalExec(deps, target, name, caller),
  };
}
