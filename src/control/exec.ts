// Commands in sandboxes: one answer, or lines while it runs.
import type { Clock } from '../domain/ports.ts';
import type { Execs } from './control-plane.ts';
import { execLines } from './exec-lines.ts';
import { execResult } from './exec-run.ts';
import { type ExecDeps, startExec } from './exec-start.ts';

export function execs(deps: ExecDeps & { clock: Clock }): Execs {
  return {
    run: async (id, request, caller, signal) =>
      execResult(await startExec(deps, id, request, { caller, signal }), deps.settings.exec.maxOutputBytes),
    stream: async (id, request, caller, signal) =>
      execLines(await startExec(deps, id, request, { caller, signal }), { clock: deps.clock, signal }),
  };
}
