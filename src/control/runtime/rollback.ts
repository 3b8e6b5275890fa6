// What follows a spawn that failed, in this process or in one that died: whatever it left is destroyed by its label, and
// only when that is confirmed, or when nothing was begun, does the row end as `error`. Otherwise it goes on as
// `destroying` and is tried again.
import { NotStarted } from '../../domain/not-started.ts';
import type { Logger } from '../../domain/ports.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import type { Runtimes } from './runtimes.ts';

/**
 * Never rejects: a row that could not be moved stays `creating`, and reconcile comes back to it. `failure` is what the
 * spawn failed with, where that is known.
 */
export type Rollback = (row: SandboxRecord, failure?: unknown) => Promise<void>;

export interface RollbackDeps {
  sandboxes: SandboxStore;
  runtimes: Pick<Runtimes, 'destroy'>;
  publisher: Publisher;
  logger: Logger;
  /** Takes over a row that is `destroying`. */
  retry(id: string): void;
}

export function rollbackSpawn(deps: RollbackDeps): Rollback {
  return async (row, failure) => {
    try {
      if (failure instanceof NotStarted || (await confirmedGone(deps, row))) await endAsError(deps, row);
      else await keepDestroying(deps, row);
    } catch (error) {
      deps.logger.error(
        { sandbox_id: row.id, err: error },
        'Could not roll back a failed spawn; the next reconciliation retries.',
      );
    }
  };
}

async function confirmedGone(
  { runtimes, logger }: RollbackDeps,
  { runtime_id: _, ...row }: SandboxRecord,
): Promise<boolean> {
  try {
    await runtimes.destroy(row, new AbortController().signal);
    return true;
  } catch (error) {
    logger.warn(
      { sandbox_id: row.id, err: error },
      'Could not confirm that a failed spawn left no runtime; retrying.',
    );
    return false;
  }
}

async function endAsError({ sandboxes, publisher }: RollbackDeps, row: SandboxRecord): Promise<void> {
  const patch = { state: 'error', end_reason: 'spawn_failed', ended_at: publisher.now() } as const;
  await publisher.end(row.id);
  const moved = await sandboxes.transition({
    id: row.id,
    from: ['creating'],
    epoch: row.epoch,
    patch,
    events: [publisher.draft('sandbox.error', { ...row, ...patch })],
  });
  if (moved) publisher.committed(moved.events);
}

async function keepDestroying({ sandboxes, retry }: RollbackDeps, row: SandboxRecord): Promise<void> {
  const patch = { state: 'destroying', end_reason: 'spawn_failed' } as const;
  const moved = await sandboxes.transition({
    id: row.id,
    from: ['creating'],
    epoch: row.epoch,
    patch,
    events: [],
  });
  if (moved) retry(row.id);
}
