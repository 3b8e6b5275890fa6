// A place for a spawn: a ready sandbox that changes hands, or a row of its own. Both are one transaction that also decides
// admission, so an attempt that is denied has changed nothing.
import { isPlaceless } from '../../domain/admission.ts';
import { refuseDifferences } from '../../domain/differences.ts';
import type { PlacementLimits } from '../../domain/placement.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { IdempotencyClaim, SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Attempt } from '../queue/ticket.ts';
import type { InFlightSpawn, InFlightSpawns } from '../runtime/in-flight-spawns.ts';
import { replayed } from './idempotency.ts';
import type { SpawnPlan } from './plan.ts';
import { isLocal } from './remote-provider.ts';
import { type TakePrewarmedDeps, takePrewarmed } from './take-prewarmed.ts';

export interface ReserveDeps extends TakePrewarmedDeps {
  sandboxes: Pick<SandboxStore, 'reserve'>;
  spawns: InFlightSpawns;
  providers: ProviderSet;
  /** A row with a deadline has been written. */
  deadlineSet(): void;
}

/** What to make a place for. */
export interface ReserveRequest {
  plan: SpawnPlan;
  provider: Provider;
  /** Of ready sandboxes that would do; undefined: none would. */
  shape: string | undefined;
  claim: IdempotencyClaim | undefined;
}

/** Throws what a strict spawn is refused for where this server has not got it, and no worker could have. */
export async function refuseLocally(
  deps: Pick<ReserveDeps, 'fleet' | 'settings'>,
  plan: SpawnPlan,
  provider: Provider,
): Promise<void> {
  if (!plan.strict || plan.warnings.length === 0) return;
  const isElsewhere =
    placementOf(deps, plan, provider).remote && (await deps.fleet.offered()).has(provider.kind);
  if (!isElsewhere) refuseDifferences(plan.strict, plan.warnings);
}

/** A row to be started, or a sandbox that runs already. */
export type Reserved = { plan: SpawnPlan; provider: Provider; flight: InFlightSpawn } | { sandbox: Sandbox };

export async function reserveSandbox(deps: ReserveDeps, placing: ReserveRequest): Promise<Attempt<Reserved>> {
  const { plan, shape, claim } = placing;
  const taken = await takePrewarmed(deps, plan, shape, claim);
  // A ready sandbox is one of this server: where that has no place, another worker may have one.
  if (taken === undefined || ('decision' in taken && isPlaceless(taken.decision)))
    return reserveRow(deps, placing);
  if ('decision' in taken) return { denied: taken.decision };
  if ('fingerprint' in taken) return { admitted: { sandbox: replayed(claim, taken) } };
  deps.deadlineSet();
  return { admitted: taken };
}

/** In flight before the row exists: reconcile must never see it without its spawn. */
async function reserveRow(
  deps: ReserveDeps,
  { plan, provider, claim }: ReserveRequest,
): Promise<Attempt<Reserved>> {
  const { sandboxes, publisher, settings, spawns } = deps;
  const flight = spawns.begin(plan.row.id);
  try {
    const events = [publisher.draft('sandbox.created', plan.row)];
    const limits = { ...settings.limits(provider.kind), placement: placementOf(deps, plan, provider) };
    const reserved = await sandboxes.reserve(plan.row, limits, events, claim);
    if (reserved.kind !== 'reserved') flight.end();
    if (reserved.kind === 'denied') return { denied: reserved.decision };
    if (reserved.kind === 'replay') return { admitted: { sandbox: replayed(claim, reserved) } };
    if (reserved.kind === 'gone') throw new Error('only a prewarmed sandbox can be missing');
    publisher.committed(reserved.events);
    deps.deadlineSet();
    return { admitted: { plan: placed(plan, reserved.sandbox), provider, flight } };
  } catch (error) {
    flight.end();
    throw error;
  }
}

/** The processors of this host are no bound elsewhere, and no reason for a warning: those of the worker are. */
function placed(plan: SpawnPlan, row: SandboxRecord): SpawnPlan {
  if (row.worker_id === LOCAL_WORKER) return { ...plan, row };
  return { ...plan, row: { ...row, vcpus: plan.vcpus }, warnings: [] };
}

/**
 * In a pool this server runs all. So it does what needs commands inside before it is running: a worker is not called for
 * those.
 */
export function placementOf(
  { fleet, settings }: Pick<ReserveDeps, 'fleet' | 'settings'>,
  { setup }: Pick<SpawnPlan, 'setup'>,
  provider: Provider,
): PlacementLimits {
  const remote = settings.pool === undefined && setup.length === 0;
  return fleet.placement({ local: isLocal(provider), remote });
}
