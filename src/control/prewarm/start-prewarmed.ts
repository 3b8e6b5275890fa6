// Starts and ends one prewarmed sandbox. Its row is written before its runtime exists and deleted after the runtime
// has ended, so that a restart finds every one.
import type { SessionHold, Sessions } from '../../agent/sessions.ts';
import { MAX_DURATION_MS } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../../store/seam/prewarmed.ts';
import { type Runtime, runtimeRef } from '../runtime/runtimes.ts';
import { runSetup, type SetupDeps } from '../runtime/setup.ts';
import type { Want } from './prewarm-plan.ts';

export interface StartPrewarmedDeps extends SetupDeps {
  warm: PrewarmedStore;
  providers: ProviderSet;
  sessions: Pick<Sessions<Runtime>, 'acquire' | 'end'>;
}

/** The row for a new prewarmed sandbox. */
export function prewarmRow(want: Want, now: number): PrewarmedRecord {
  const { id, epoch, provider, image, memory_mb, vcpus, network, created_at } = want.plan(now).row;
  const facts = { id, epoch, provider, image, memory_mb, vcpus, network, created_at };
  return { ...facts, template: want.template, shape: want.shape, state: 'starting', warnings: [] };
}

/** Starts the runtime and its session. Throws `resource_limit` without capacity. After a failure call `endPrewarmed`. */
export async function startPrewarmed(
  deps: StartPrewarmedDeps,
  want: Want,
  row: PrewarmedRecord,
  signal: AbortSignal,
): Promise<{ row: PrewarmedRecord; lease: SessionHold }> {
  signal.throwIfAborted();
  const limits = deps.settings.limits(row.provider as ProviderKind);
  if (!(await deps.warm.reserve(row, limits)))
    throw new ServiceError('resource_limit', 'There is no capacity for a prewarmed sandbox.');
  const { id, epoch, memory_mb, vcpus, network } = row;
  // The label outlives every deadline: a prewarmed sandbox has none, and later the row decides.
  const expires_at = new Date(deps.clock.now() + MAX_DURATION_MS).toISOString();
  const { image } = want.plan(0);
  const spec = { id, epoch, image, memory_mb, vcpus, network, expires_at };
  const { warnings, ...created } = await want.provider.create(spec, signal);
  const made: PrewarmedRecord = { ...row, ...created, state: 'ready', warnings };
  await runSetup(deps, { ...made, env: want.env }, want.setup, signal);
  const lease = await deps.sessions.acquire(made, signal);
  if (await deps.warm.ready(made)) return { row: made, lease };
  lease.release();
  throw new ServiceError('conflict', 'The prewarmed sandbox was discarded.');
}

/** Resolves when nothing of it is left. Idempotent. */
export async function endPrewarmed(deps: StartPrewarmedDeps, row: PrewarmedRecord): Promise<void> {
  await deps.sessions.end(row.id);
  await deps.providers.get(row.provider).destroy(runtimeRef(row), new AbortController().signal);
  await deps.warm.remove(row.id);
}
