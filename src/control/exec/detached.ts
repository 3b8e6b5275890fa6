// Commands that run on their own (docs/design/api.md#detached-execs, background execs). They and their tails are kept
// by the agent alone, so they outlive clients and servers; the database has only what ran and how it ended.
import type { ExecRecord } from '../../agent/io.ts';
import { defined } from '../../domain/defined.ts';
import { ServiceError } from '../../domain/errors.ts';
import { signalWord } from '../../domain/exec-request.ts';
import type { OutputEncoding } from '../../domain/output.ts';
import type { Clock } from '../../domain/ports.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import { type ExecDetached, type ExecItem, type ExecOutputQuery, MOST_LISTED } from '../../schema/exec.ts';
import type { StoredExec } from '../../store/seam/execs.ts';
import type { Caller } from '../api/caller.ts';
import type { LiveRequest, StreamedLine } from '../api/execs.ts';
import { execLines } from './exec-lines.ts';
import { type ExecCall, type ExecDeps, type StartedExec, startExec } from './exec-start.ts';

interface Target {
  id: string;
  exec_id: string;
}

/** Resolves when it runs. */
export async function detachExec(
  deps: ExecDeps,
  id: string,
  request: LiveRequest,
  call: ExecCall,
): Promise<ExecDetached> {
  refuseWaiting(request);
  const { exec } = await startExec(deps, id, request, call);
  await exec.exit;
  return { exec_id: exec.exec_id };
}

/** Newest first. What the agent has forgotten, or a sandbox that has ended, comes from the stored records. */
export async function listExecs(
  { access, log, find }: ExecDeps,
  id: string,
  { caller, signal }: ExecCall,
): Promise<ExecItem[]> {
  const known = await find.any(id, caller);
  if (known && hasEnded(known.state)) return (await log.list(id)).map(storedItem);
  const row = await access.find(id, caller);
  const [live, kept] = await access.use(row, signal, ({ execs }) =>
    Promise.all([execs.list(signal), execs.kept?.(signal) ?? []]),
  );
  const running = new Set(kept.filter(({ state }) => state === 'running').map(({ exec_id }) => exec_id));
  const stored = new Map((await log.list(id)).map((exec) => [exec.exec_id, exec]));
  const items = live.map((record) => {
    const seen = stored.get(record.exec_id);
    stored.delete(record.exec_id);
    const command = seen?.command ?? log.shown({ command: record.label });
    const attachable = running.has(record.exec_id) ? { attachable: true } : {};
    return { ...itemOf(record), command, ...(seen && seenHere(seen)), ...attachable };
  });
  const forgotten = [...stored.values()].map(storedItem);
  return items
    .concat(forgotten)
    .sort((a, b) => (a.started_at < b.started_at ? 1 : -1))
    .slice(0, MOST_LISTED);
}

/** Throws `not_found` for one that never was or is no longer kept. */
export async function findExec(deps: ExecDeps, { id, exec_id }: Target, call: ExecCall): Promise<ExecItem> {
  const found = (await listExecs(deps, id, call)).find((item) => item.exec_id === exec_id);
  if (found) return found;
  throw new ServiceError('not_found', 'There is no such exec in the sandbox.', {
    remedy: 'Ended execs are kept for a limited time. List the execs of the sandbox.',
  });
}

/** `name` may come without SIG and in any case. */
export async function signalExec(
  { access }: ExecDeps,
  { id, exec_id }: Target,
  name: string,
  caller: Caller,
): Promise<void> {
  const { signal } = new AbortController();
  await access.use(await access.find(id, caller), signal, (io) => io.execs.signal(exec_id, signalWord(name)));
}

/** Rejects for everything that goes wrong before the first line. */
export async function detachedOutput(
  deps: ExecDeps & { clock: Clock },
  target: Target,
  query: ExecOutputQuery,
  call: ExecCall,
): Promise<AsyncIterable<StreamedLine>> {
  return execLines(await attachTo(deps, target, query, call), deps.clock, call.signal);
}

/** What only somebody who waits can have. */
export function refuseWaiting(request: LiveRequest): void {
  if (request.stream)
    throw contradiction('detach and stream exclude each other.', 'Follow its output after it has started.');
  if (request.stdin !== undefined)
    throw contradiction('A detached command has no standard input.', 'Write the input to a file first.');
  if (request.encoding !== undefined)
    throw contradiction(
      'A detached command does not return output.',
      'Set encoding when you read its output.',
    );
}

/** A view of a detached command; the session is held until the view is over. */
export async function attachTo(
  { access }: Pick<ExecDeps, 'access'>,
  { id, exec_id }: Target,
  { follow = false, encoding = 'utf8' }: { follow?: boolean; encoding?: OutputEncoding | undefined },
  { caller, signal }: ExecCall,
): Promise<StartedExec> {
  const held = await access.open(await access.find(id, caller), signal);
  try {
    const exec = await held.io.execs.attach(exec_id, follow, signal);
    exec.exit.then(() => held.release(), held.release);
    return { sandbox_id: id, exec, io: held.io, encoding, attached: exec };
  } catch (error) {
    held.release(error);
    throw error;
  }
}

/** What the server saw itself; the clock of a sandbox may differ. */
const seenHere = ({ actor, started_at, ended_at }: StoredExec) => defined({ actor, started_at, ended_at });

/** Whatever ran has ended where nobody runs it any more; an unknown end has no exit code. */
function storedItem({ sandbox_id: _, ...exec }: StoredExec): ExecItem {
  return { ...exec, state: 'exited' };
}

function itemOf({ exec_id, label: command, detached, state, started_at, ...end }: ExecRecord): ExecItem {
  const exit_code = state === 'exited' ? end.exit_code : undefined;
  const { signal, ended_at } = end;
  return defined({ exec_id, command, detached, state, started_at, exit_code, signal, ended_at });
}

function contradiction(message: string, remedy: string): ServiceError {
  return new ServiceError('bad_request', message, { remedy });
}
