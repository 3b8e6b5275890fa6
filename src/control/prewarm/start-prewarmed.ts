// Starts and ends one prewarmed sandbox, on this server or on a worker. Its row is written before its runtime exists and
// deleted after the runtime has ended, so that a restart finds every one.

import type { SessionHold, Sessions } from '../../agent/sessions.ts';
import { MAX_DURATION_MS } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Started } from '../../providers/provider.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../../store/seam/prewarmed.ts';
import { DEMAND_MS } from '../runtime/demand.ts';
import type { EgressGates } from '../runtime/egress-gates.ts';
import type { PrewarmEntry } from '../runtime/prewarm-stock.ts';
import { createHere, type Runtime, type Runtimes } from '../runtime/runtimes.ts';
import { runSetup, type SetupDeps } from '../runtime/setup.ts';
import { AUTO } from '../spawn/plain.ts';
import { placementOf } from '../spawn/reserve.ts';
import type { Fleet } from '../workers/fleet.ts';
import type { Want } from './prewarm-plan.ts';

/** Longer than one is kept. */
const AUTO_LIFE_MS = 1.5 * DEMAND_MS;

export interface StartPrewarmedDeps extends SetupDeps {
  warm: PrewarmedStore;
  fleet: Pick<Fleet, 'placement' | 'abilities'>;
  egress: Pick<EgressGates, 'certificate' | 'open' | 'withdraw'>;
  runtimes: Pick<Runtimes, 'create' | 'destroy' | 'capabilities' | 'hasCurrentImage'>;
  sessions: Pick<Sessions<Runtime>, 'acquire' | 'end'>;
}

/** The row for a new prewarmed sandbox. */
export function prewarmRow(want: Want, now: number): PrewarmedRecord {
  const { id, epoch, provider, image, memory_mb, vcpus, network, created_at, worker_id } = want.plan(now).row;
  const facts = { id, epoch, provider, image, memory_mb, vcpus, network, created_at, worker_id };
  return { ...facts, template: want.template, shape: want.shape, state: 'starting', warnings: [] };
}

/**
 * Starts the runtime and its session; `entry.row` names its worker from its reservation on. Throws `resource_limit` without
 * capacity, and when `most` of its shape exist. After a failure call `endPrewarmed`.
 */
export async function startPrewarmed(
  deps: StartPrewarmedDeps,
  want: Want,
  entry: Pick<PrewarmEntry, 'row' | 'abort'>,
  most: number | undefined,
): Promise<{ row: PrewarmedRecord; lease: SessionHold }> {
  const { signal } = entry.abort;
  signal.throwIfAborted();
  entry.row = await reserved(deps, want, entry.row, most);
  const { warnings, notes: _notes, ...created } = await create(deps, want, entry.row, signal);
  const made: PrewarmedRecord = { ...entry.row, ...created, state: 'ready', warnings };
  await setUp(deps, want, made, signal);
  const lease = await deps.sessions.acquire(made, signal);
  const { replica_id: _, ...row } = made;
  if (await deps.warm.ready(made)) return { row, lease };
  lease.release();
  throw new ServiceError('conflict', 'The prewarmed sandbox was discarded.');
}

/** Under the policy of the template alone, which ends with it: that of an owner comes when it is taken. Shows that a gate opens, too. */
async function setUp(
  deps: StartPrewarmedDeps,
  { egress, owner_id, env, setup }: Want,
  made: PrewarmedRecord,
  signal: AbortSignal,
): Promise<void> {
  if (!egress) return runSetup(deps, { ...made, env }, setup, signal);
  const owner = owner_id === undefined ? {} : { owner_id };
  await deps.egress.open({ ...made, egress, ...owner }, signal);
  try {
    await runSetup(deps, { ...made, env }, setup, signal);
  } finally {
    await deps.egress.withdraw(made.id);
  }
}

/** Placed as a spawn would be. It is kept through its session, so a worker needs sessions. */
async function reserved(
  { warm, fleet, settings }: StartPrewarmedDeps,
  { provider, setup, demand, isElsewhere }: Want,
  row: PrewarmedRecord,
  most: number | undefined,
): Promise<PrewarmedRecord> {
  const like = { setup, demand, image: row.image, isElsewhere };
  const placement = placementOf({ fleet, settings }, like, provider, true);
  const limits = { ...settings.limits(row.provider as ProviderKind), placement };
  const placed = await warm.reserve(row, limits, most);
  if (placed) return placed;
  throw new ServiceError('resource_limit', 'There is no capacity for a prewarmed sandbox.');
}

/**
 * The label outlives every deadline: a sandbox that a template prewarms has none, and later the row decides. Without a template one
 * ends by itself, if no server ends it before.
 */
async function create(
  { runtimes, clock, egress: gates }: StartPrewarmedDeps,
  { plan, provider, template, egress }: Want,
  { id, epoch, memory_mb, vcpus, network, worker_id }: PrewarmedRecord,
  signal: AbortSignal,
): Promise<Started> {
  const expires_at = new Date(clock.now() + MAX_DURATION_MS).toISOString();
  const planned = plan(clock.now());
  const { image, image_policy, private_images, row, gate } = planned;
  const trust = egress?.trust ? await gates.certificate() : undefined;
  const made = { image, image_policy, private_images, ...(gate && { gate }), ...(trust && { trust }) };
  if (worker_id === LOCAL_WORKER) {
    const facts = { id, epoch, ...made, memory_mb, vcpus, network, expires_at };
    const deadline = template === AUTO ? clock.monotonic() + AUTO_LIFE_MS : undefined;
    return createHere(provider, { ...facts, deadline }, signal);
  }
  // The processors of this host do not limit a worker.
  const placed = { ...row, id, epoch, worker_id, expires_at, vcpus: planned.vcpus };
  return runtimes.create({ row: placed, ...made, strict: false }, signal);
}

/** Resolves when nothing of it is left. Idempotent. */
export async function endPrewarmed(
  deps: StartPrewarmedDeps,
  { row, isNotStarted = false }: Pick<PrewarmEntry, 'row' | 'isNotStarted'>,
): Promise<void> {
  await deps.sessions.end(row.id);
  if (!isNotStarted) await deps.runtimes.destroy(row, new AbortController().signal);
  await deps.warm.remove(row.id);
}
