// Moves the end of a sandbox. The agent of the sandbox agrees to a later end before it is stored, and to an earlier one
// after: a crash in between never lets the sandbox end before the time of an earlier answer, unless a caller shortened it.
// Each write names the end that it found, as the marking of an expired row does: the reaper never overruns an acknowledged
// end, nor does a slower extension.
import { ServiceError } from '../../domain/errors.ts';
import type { KeyedLock } from '../../domain/keyed-lock.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { effectiveLimits } from '../../domain/quota.ts';
import { LIVE_STATES } from '../../domain/sandbox-state.ts';
import { boundedLifeMs } from '../../domain/ttl.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { ExtendRequest, Sandbox } from '../../schema/sandbox.ts';
import type { SandboxRecord, SandboxStore, SandboxWithQuota } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Finder } from '../records/find.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { sandboxView, shownTo } from '../records/views.ts';
import type { AgentDeadlines } from '../runtime/agent-deadlines.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Fleet } from '../workers/fleet.ts';

const ATTEMPTS = 5;
/** No attempt starts later than this after the first: while a database holds commits, each waits for others' locks. */
const ATTEMPTS_MS = 3000;

export interface ExtendDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'extend'>;
  find: Finder;
  /** Held from the agent's agreement to the write, so that both see moves in the same order. */
  moves: KeyedLock;
  replicas: Pick<Replicas, 'areSeveral'>;
  deadlines: Pick<AgentDeadlines, 'set'>;
  publisher: Publisher;
  settings: Settings;
  fleet: Fleet;
  logger: Logger;
  clock: Clock;
}

/**
 * Sets `expires_at` to the later of its current value and now + `ttl`; with `exact`, to now + `ttl`. Throws `conflict` while
 * the sandbox is being destroyed, and `unavailable` when its agent or its worker does not agree. Then nothing has changed,
 * except where several control planes share the store: there the row keeps the end.
 */
export async function extendSandbox(
  deps: ExtendDeps,
  id: string,
  request: ExtendRequest,
  caller: Caller,
): Promise<Sandbox> {
  const known = await deps.find.activeWithQuota(id, caller);
  const lifeMs = lifeOf(deps, known, request, caller);
  // First: if the store does not answer, nothing has changed.
  await deps.fleet.abilities.learnOf([known.sandbox]);
  const moved = await deps.moves.run(id, () => move(deps, id, { lifeMs, exact: request.exact ?? false }));
  if (moved && moved.expires_at !== known.sandbox.expires_at)
    deps.publisher.note('sandbox.extended', moved, { expires_at: moved.expires_at }, caller.actor);
  // The sandbox began to end after it was found: answer with its current state.
  const shown = moved ?? (await deps.find.usable(id, caller));
  return shownTo(caller, sandboxView(shown), deps.settings);
}

function lifeOf(
  { settings, publisher }: ExtendDeps,
  { sandbox: row, quota }: SandboxWithQuota,
  { ttl }: ExtendRequest,
  { actor }: Caller,
): number {
  try {
    return boundedLifeMs(ttl, settings.ttlMs, effectiveLimits(quota, settings.ownerLimits));
  } catch (error) {
    publisher.refusal('sandbox.extend', row, error, actor);
    throw error;
  }
}

interface Move {
  lifeMs: number;
  exact: boolean;
}

/** Undefined when the sandbox is ending. Looks again when its end was moved meanwhile. */
async function move(deps: ExtendDeps, id: string, { lifeMs, exact }: Move) {
  const until = deps.clock.monotonic() + ATTEMPTS_MS;
  for (let attempt = 0; attempt < ATTEMPTS && deps.clock.monotonic() <= until; attempt++) {
    const row = await deps.sandboxes.get(id);
    if (!row || !isLive(row)) return undefined;
    const wanted = new Date(deps.clock.now() + lifeMs).toISOString();
    const end = exact || wanted > row.expires_at ? wanted : row.expires_at;
    const isDone = end === row.expires_at && !deps.replicas.areSeveral;
    const moved = isDone ? row : await moveFrom(deps, row, end);
    if (moved) return moved;
  }
  throw new ServiceError('unavailable', 'The end of the sandbox is being moved by others.', {
    remedy: 'Try again.',
    retryAfterMs: 1000,
  });
}

/** Undefined when the row has changed. */
async function moveFrom(
  deps: ExtendDeps,
  row: SandboxRecord,
  end: string,
): Promise<SandboxRecord | undefined> {
  // A sandbox that is starting has no agent yet: its start passes the end on. A worker reads the row.
  const isFirst = end > row.expires_at && row.worker_id === LOCAL_WORKER && row.state !== 'creating';
  if (isFirst) await deps.deadlines.set(row, end);
  const moved = await write(deps, row, end);
  if (!moved || isFirst || moved.state === 'creating') return moved;
  try {
    await pass(deps, moved);
    if (deps.replicas.areSeveral) await passNewer(deps, moved);
    return moved;
  } catch (error) {
    // Another replica may have answered with this end already. The worker takes it over with its next renewal.
    if (deps.replicas.areSeveral) throw error;
    const restored = await write(deps, moved, row.expires_at);
    // The failed call may have arrived. Where somebody else moved the end since, or the sandbox is ending, that holds.
    if (restored)
      await pass(deps, restored).catch((err: unknown) =>
        deps.logger.info(
          { sandbox_id: row.id, err },
          'Could not pass the restored end of a sandbox to its agent; the server ends the sandbox at that time.',
        ),
      );
    throw error;
  }
}

/** The end that another replica wrote meanwhile may have been passed before this one. */
async function passNewer(deps: ExtendDeps, { id, expires_at }: SandboxRecord): Promise<void> {
  const row = await deps.sandboxes.get(id);
  if (row && isLive(row) && row.expires_at !== expires_at) await pass(deps, row);
}

function isLive({ state }: SandboxRecord): boolean {
  return LIVE_STATES.some((live) => live === state);
}

/** Undefined when the row no longer has this end. */
function write(
  { sandboxes }: ExtendDeps,
  row: SandboxRecord,
  end: string,
): Promise<SandboxRecord | undefined> {
  return sandboxes.extend(row.id, LIVE_STATES, { was: row.expires_at, expires_at: end });
}

/** Passes the end of the row to the agent of the sandbox, or to its worker. */
function pass({ deadlines, fleet }: ExtendDeps, row: SandboxRecord): Promise<void> {
  return row.worker_id === LOCAL_WORKER ? deadlines.set(row, row.expires_at) : fleet.renew(row);
}
