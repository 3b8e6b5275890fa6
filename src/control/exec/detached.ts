// Commands that run on their own (docs/design/api.md#detached-execs, background execs). They and their tails are kept
// by the agent alone, so they outlive clients and servers; the database has only what ran and how it ended.
import type { Exec, ExecRecord, SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { signalWord } from '../../domain/exec-request.ts';
import type { Clock } from '../../domain/ports.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import { type ExecDetached, type ExecItem, type ExecOutputQuery, MOST_LISTED } from '../../schema/exec.ts';
import type { StoredExec } from '../../store/seam/execs.ts';
import type { OpenSandbox } from '../access/session-access.ts';
import type { Caller } from '../api/caller.ts';
import type { LiveRequest, StreamedLine } from '../api/execs.ts';
import { execLines } from './exec-lines.ts';
import { type ExecDeps, startExec } from './exec-start.ts';

interface Target {
  id: string;
  exec_id: string;
}
interface Asked {
  caller: Caller;
  signal: AbortSignal;
}

/** Resolves when it runs. */
export async function detachExec(
  deps: ExecDeps,
  id: string,
  request: LiveRequest,
  asked: Asked,
): Promise<ExecDetached> {
  refuseWaiting(request);
  const { exec } = await startExec(deps, id, request, asked);
  await exec.exit;
  return { exec_id: exec.exec_id };
}

/** Newest first. What the agent has forgotten, or a sandbox that has ended, comes from the stored records. */
export async function listExecs(deps: ExecDeps, id: string, asked: Asked): Promise<ExecItem[]> {
  const { access, log, find } = deps;
  const row = await find.any(id, asked.caller);
  if (row && hasEnded(row.state)) return (await log.list(id)).map(storedItem);
  const live = await inside({ access }, id, asked, ({ io }) => io.execs.list(asked.signal));
  const stored = new Map((await log.list(id)).map((exec) => [exec.exec_id, exec]));
  const items = live.map((record) => {
    const known = stored.get(record.exec_id);
    stored.delete(record.exec_id);
    const command = known?.command ?? log.shown({ command: record.label });
    return { ...itemOf(record), command, ...(known && seenHere(known)) };
  });
  const forgotten = [...stored.values()].map(storedItem);
  return items
    .concat(forgotten)
    .sort((a, b) => (a.started_at < b.started_at ? 1 : -1))
    .slice(0, MOST_LISTED);
}

/** Throws `not_found` for one that never was or is no longer kept. */
export async function findExec(deps: ExecDeps, { id, exec_id }: Target, asked: Asked): Promise<ExecItem> {
  const found = (await listExecs(deps, id, asked)).find((item) => item.exec_id === exec_id);
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
  const asked = { caller, signal: new AbortController().signal };
  await inside({ access }, id, asked, ({ io }) => io.execs.signal(exec_id, signalWord(name)));
}

/** Rejects for everything that goes wrong before the first line. */
export async function detachedOutput(
  deps: ExecDeps & { clock: Clock },
  target: Target,
  { follow = false, encoding = 'utf8' }: ExecOutputQuery,
  asked: Asked,
): Promise<AsyncIterable<StreamedLine>> {
  const { exec, io } = await attachTo(deps, target, follow, asked);
  const view = { sandbox_id: target.id, exec, io, encoding, attached: exec };
  return execLines(view, { clock: deps.clock, signal: asked.signal });
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
  follow: boolean,
  { caller, signal }: Asked,
): Promise<{ exec: Exec & { truncated: boolean }; io: SandboxIo }> {
  const held = await access.open(await access.find(id, caller), signal);
  try {
    const exec = await held.io.execs.attach(exec_id, follow, signal);
    exec.exit.then(
      () => held.release(),
      (error: unknown) => held.release(error),
    );
    return { exec, io: held.io };
  } catch (error) {
    held.release(error);
    throw error;
  }
}

async function inside<T>(
  { access }: Pick<ExecDeps, 'access'>,
  id: string,
  { caller, signal }: Asked,
  work: (held: OpenSandbox) => Promise<T>,
): Promise<T> {
  const held = await access.open(await access.find(id, caller), signal);
  try {
    const result = await work(held);
    held.release();
    return result;
  } catch (error) {
    held.release(error);
    throw error;
  }
}

/** What the server saw itself; the clock of a sandbox may differ. */
const seenHere = ({ actor, started_at, ended_at }: StoredExec) => ({
  actor,
  started_at,
  ...(ended_at !== undefined && { ended_at }),
});

/** Whatever ran has ended where nobody runs it any more; an unknown end has no exit code. */
function storedItem({ sandbox_id: _, ...exec }: StoredExec): ExecItem {
  return { ...exec, state: 'exited' };
}

function itemOf({ exec_id, label, detached, state, exit_code, ...rest }: ExecRecord): ExecItem {
  const { signal, started_at, ended_at } = rest;
  return {
    exec_id,
    command: label,
    detached,
    state,
    started_at,
    ...(state === 'exited' && { exit_code }),
    ...(signal !== undefined && { signal }),
    ...(ended_at !== undefined && { ended_at }),
  };
}

function contradiction(message: string, remedy: string): ServiceError {
  return new ServiceError('bad_request', message, { remedy });
}
