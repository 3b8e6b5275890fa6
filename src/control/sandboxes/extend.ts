// Extends a deadline; it never moves it earlier. It holds the lock that the marking of an expired row holds, so that
// the reaper never overruns an acknowledged extension.
import type { KeyedLock } from '../../domain/keyed-lock.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { LIVE_STATES } from '../../domain/sandbox-state.ts';
import { boundedLifeMs } from '../../domain/ttl.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Finder } from '../records/find.ts';
import type { LimitsOf } from '../records/owner-limits.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { sandboxView, shownTo } from '../records/views.ts';
import type { Fleet } from '../workers/fleet.ts';

export interface ExtendDeps {
  sandboxes: Pick<SandboxStore, 'extend'>;
  find: Finder;
  lock: KeyedLock;
  publisher: Publisher;
  settings: Settings;
  limitsOf: LimitsOf;
  fleet: Fleet;
  logger: Logger;
  clock: Clock;
}

/**
 * Sets `expires_at` to the later of its current value and now + `ttl`. Throws `conflict` while the sandbox is being
 * destroyed.
 */
export async function extendSandbox(
  deps: ExtendDeps,
  id: string,
  ttl: string,
  caller: Caller,
): Promise<Sandbox> {
  const row = await deps.find.active(id, caller);
  const moved = await deps.lock.run(id, () => move(deps, row, ttl, caller));
  // The sandbox began to end after it was found: answer with its current state.
  if (!moved) return shownTo(caller, sandboxView(await deps.find.usable(id, caller)), deps.settings);
  if (moved.worker_id !== LOCAL_WORKER) await tellWorker(deps, moved);
  return shownTo(caller, sandboxView(moved), deps.settings);
}

/** A worker that cannot be called now gets the deadline with its next renewal. */
async function tellWorker({ fleet, logger }: ExtendDeps, row: SandboxRecord): Promise<void> {
  await fleet
    .renew(row)
    .catch((error: unknown) =>
      logger.info(
        { sandbox_id: row.id, err: error },
        'Could not notify the worker of the new deadline; its next renewal carries it.',
      ),
    );
}

async function move(
  deps: ExtendDeps,
  row: SandboxRecord,
  ttl: string,
  caller: Caller,
): Promise<SandboxRecord | undefined> {
  const { sandboxes, clock, settings, publisher } = deps;
  try {
    const ms = boundedLifeMs(ttl, settings.ttlMs, await deps.limitsOf(row.owner_id));
    return await sandboxes.extend(row.id, LIVE_STATES, new Date(clock.now() + ms).toISOString());
  } catch (error) {
    publisher.refusal('sandbox.extend', row, error, caller.actor);
    throw error;
  }
}
