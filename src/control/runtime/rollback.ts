// Rolls back a failed spawn, of this process or of one that died. The runtime is destroyed by its label; the row ends
// as `error` only when that is confirmed or nothing was started. Otherwise it becomes `destroying` and is retried. Where
// several control planes share the store, an unfinished spawn becomes `destroying` first: whoever was starting it may only
// have been frozen, and must find that the row is no longer its own before the runtime goes.
import { type SystemActor, systemEnd } from '../../domain/actor.ts';
import { ServiceError } from '../../domain/errors.ts';
import { NotStarted } from '../../domain/not-started.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import type { Replicas } from './replicas.ts';
import type { Runtimes } from './runtimes.ts';

/** Never rejects: a row that could not be moved stays `creating`. `failure` is the error of the spawn, if known. */
export type Rollback = (row: SandboxRecord, failure?: unknown) => Promise<void>;

/** `running` where only the answer to that change was lost: the caller gets a failure. */
const FAILED = ['creating', 'running'] as const;

export interface RollbackDeps {
  sandboxes: SandboxStore;
  runtimes: Pick<Runtimes, 'destroy'>;
  publisher: Publisher;
  clock: Clock;
  logger: Logger;
  /** The id of this process in rows that it ends. */
  replica: string;
  replicas: Pick<Replicas, 'areSeveral'>;
  /** Takes over a `destroying` row. */
  retry(id: string): void;
}

export function rollbackSpawn(deps: RollbackDeps): Rollback {
  return async (row, failure) => {
    const by = systemEnd(failure === undefined ? 'reconciled' : 'spawn_failed');
    try {
      if (failure === undefined && deps.replicas.areSeveral) await keepDestroying(deps, row, by);
      else if (failure instanceof NotStarted || (await confirmedEnd(deps, row)))
        await endAsError(deps, row, by);
      else await keepDestroying(deps, row, by);
    } catch (error) {
      deps.logger.error(
        { sandbox_id: row.id, err: error },
        'Could not roll back a failed spawn; the next reconciliation retries.',
      );
    }
  };
}

/** A worker that does not answer holds up the answer to the spawn, which has failed, no longer than this. */
const WORKER_MS = 10_000;

async function confirmedEnd(
  { runtimes, clock, logger }: RollbackDeps,
  { runtime_id: _, ...row }: SandboxRecord,
): Promise<boolean> {
  const destroy = (signal: AbortSignal) => runtimes.destroy(row, signal);
  const error = () => new ServiceError('timeout', 'The worker did not confirm the end in time.');
  try {
    if (row.worker_id === LOCAL_WORKER) await destroy(new AbortController().signal);
    else await withTimeout({ clock, ms: WORKER_MS, error }, destroy);
    return true;
  } catch (error) {
    logger.warn(
      { sandbox_id: row.id, err: error },
      'Could not confirm that a failed spawn left no runtime; retrying.',
    );
    return false;
  }
}

async function endAsError(
  { sandboxes, publisher }: RollbackDeps,
  row: SandboxRecord,
  ended_by: SystemActor,
): Promise<void> {
  const reason = { end_reason: 'spawn_failed', ended_by } as const;
  const patch = { state: 'error', ...reason, ended_at: publisher.now() } as const;
  await publisher.end(row.id);
  const moved = await sandboxes.transition({
    id: row.id,
    from: FAILED,
    epoch: row.epoch,
    patch,
    replica_id: null,
    events: [publisher.draft('sandbox.error', { ...row, ...patch }, ended_by)],
  });
  if (moved) publisher.committed(moved.events);
}

async function keepDestroying(
  { sandboxes, retry, replica }: RollbackDeps,
  row: SandboxRecord,
  ended_by: SystemActor,
): Promise<void> {
  const patch = { state: 'destroying', end_reason: 'spawn_failed', ended_by } as const;
  const moved = await sandboxes.transition({
    id: row.id,
    from: ['creating'],
    epoch: row.epoch,
    patch,
    replica_id: replica,
    events: [],
  });
  if (moved) retry(row.id);
}
