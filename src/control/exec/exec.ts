// Commands in sandboxes: one answer, a stream of lines, or detached.
import type { Clock } from '../../domain/ports.ts';
import type { Execs, LiveExec, LiveRequest } from '../api/execs.ts';
import {
  attachTo,
  detachExec,
  detachedOutput,
  findExec,
  listExecs,
  refuseWaiting,
  signalExec,
} from './detached.ts';
import { execLines } from './exec-lines.ts';
import { execResult } from './exec-run.ts';
import { type ExecCall, type ExecDeps, type StartedExec, startExec } from './exec-start.ts';
import { keptExecs, resumeExec } from './kept.ts';
import { detachKeyed, isKeyed, keyedLines, keyedResult } from './keyed.ts';

export function execs(deps: ExecDeps & { clock: Clock }): Execs {
  const { clock, access } = deps;
  return {
    run: (id, request, caller, signal, hold) =>
      access.explainFailure(id, async () => {
        if (isKeyed(request)) return keyedResult(deps, id, request, { caller, signal, hold });
        const started = await startExec(deps, id, request, { caller, signal });
        return execResult(started, deps.settings.exec.maxOutputBytes, hold);
      }),
    stream: (id, request, caller, signal) =>
      access.explainFailure(id, async () => {
        if (isKeyed(request)) return keyedLines(deps, id, request, { caller, signal });
        return execLines(await startExec(deps, id, request, { caller, signal }), clock, signal);
      }),
    open: (id, request, caller, signal) =>
      access.explainFailure(id, () => openExec(deps, id, request, { caller, signal })),
    kept: (id, caller, signal) => access.explainFailure(id, () => keptExecs(deps, id, { caller, signal })),
    resume: (target, caller, signal) =>
      access.explainFailure(target.id, async () => {
        const { truncated, ...started } = await resumeExec(deps, target, { caller, signal });
        return { ...live(started), truncated };
      }),
    detach: (id, request, caller, signal) =>
      access.explainFailure(id, async () => {
        if (!isKeyed(request)) return detachExec(deps, id, request, { caller, signal });
        refuseWaiting(request);
        const { exec_id } = await detachKeyed(deps, id, request, { caller, signal });
        return { exec_id };
      }),
    list: (id, caller, signal) => access.explainFailure(id, () => listExecs(deps, id, { caller, signal })),
    get: (id, exec_id, caller, signal) =>
      access.explainFailure(id, () => findExec(deps, { id, exec_id }, { caller, signal })),
    output: (target, query, caller, signal) =>
      access.explainFailure(target.id, () => detachedOutput(deps, target, query, { caller, signal })),
    signal: (target, name, caller) =>
      access.explainFailure(target.id, () => signalExec(deps, target, name, caller)),
  };
}

/**
 * Resolves when it runs: with input while it runs, a resizable terminal and signals. A detached command is followed: when
 * the caller disconnects, only the following ends.
 */
async function openExec(deps: ExecDeps, id: string, request: LiveRequest, call: ExecCall): Promise<LiveExec> {
  if (!request.detach)
    return live(await startExec(deps, id, { ...request, keepStdin: request.noInput !== true }, call));
  const { encoding: _, ...rest } = request;
  const { exec_id } = await detachExec(deps, id, rest, call);
  return live(await attachTo(deps, { id, exec_id }, { follow: true }, call));
}

function live({ exec, io }: StartedExec): LiveExec {
  const { exec_id, stdin, startsAtInputEnd, output, exit, pid } = exec;
  return {
    exec_id,
    stdin,
    ...(startsAtInputEnd && { startsAtInputEnd }),
    ...(pid && { pid }),
    output,
    exit,
    resize: (rows, cols) => exec.resize(rows, cols),
    signal: (name) => io.execs.signal(exec_id, name),
  };
}
