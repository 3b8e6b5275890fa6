// Reserves capacity for a spawn: it takes a prewarmed sandbox or writes a new row. Either is one transaction that also
// decides admission, so a denied attempt has changed nothing.
import { refuseDifferences } from '../../domain/differences.ts';
import { imageForms } from '../../domain/image-name.ts';
import type { PlacementLimits } from '../../domain/placement.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type {
  IdempotencyClaim,
  Reservation,
  ReserveOrder,
  SandboxRecord,
  SandboxStore,
} from '../../store/store.ts';
import type { TicketAttempt } from '../queue/desk.ts';
import type { Attempt } from '../queue/ticket.ts';
import type { InFlightSpawn, InFlightSpawns } from '../runtime/in-flight-spawns.ts';
import type { Fleet } from '../workers/fleet.ts';
import { isLocal } from './choose.ts';
import { replayed } from './idempotency.ts';
import type { SpawnPlan } from './plan.ts';
import { type TakePrewarmedDeps, takePrewarmed } from './take-prewarmed.ts';

export interface ReserveDeps extends TakePrewarmedDeps {
  sandboxes: Pick<SandboxStore, 'reserve' | 'transition'>;
  spawns: InFlightSpawns;
  /** The id of this process in rows that it starts. */
  replica: string;
  providers: ProviderSet;
  /** A row with a deadline has been written. */
  deadlineSet(): void;
}

/** What to reserve capacity for. */
export interface ReserveRequest {
  plan: SpawnPlan;
  provider: Provider;
  /** The shape of prewarmed sandboxes that fit; undefined: none fit. */
  shape: string | undefined;
  claim: IdempotencyClaim | undefined;
}

/** Throws the refusal of a strict spawn that this server cannot satisfy and no worker could. */
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

/** A row to start. */
export interface ReservedRow {
  plan: SpawnPlan;
  provider: Provider;
  flight: InFlightSpawn;
}
/** A row to start, or a sandbox that runs already; undefined: that another spawn with the same key is starting. */
export type Reserved = ReservedRow | { sandbox: Sandbox | undefined };

export async function reserveSandbox(deps: ReserveDeps, placing: ReserveRequest): Promise<Attempt<Reserved>> {
  const { plan, shape, claim } = placing;
  const taken = await takePrewarmed(deps, plan, shape, { claim });
  if (taken === undefined) return reserveRow(deps, placing);
  if ('decision' in taken) return { denied: taken.decision };
  if ('fingerprint' in taken) return { admitted: { sandbox: replayed(claim, taken) } };
  if (!('sandbox' in taken)) throw noTicket();
  deps.deadlineSet();
  return { admitted: { sandbox: taken.sandbox } };
}

/** The same for a ticket. The home of the ticket starts the row. */
export async function reserveTicket(
  deps: ReserveDeps,
  placing: ReserveRequest,
  ticket: NonNullable<ReserveOrder['ticket']>,
): Promise<TicketAttempt> {
  const { plan, shape, claim } = placing;
  const taken = await takePrewarmed(deps, plan, shape, { claim, ticket });
  if (taken && 'sandbox' in taken) {
    deps.deadlineSet();
    return { kind: 'admitted', sandbox_id: taken.sandbox.id, turn: taken.turn };
  }
  const reserved = taken ?? (await writeRow(deps, placing, ticket.home, ticket));
  if (reserved.kind === 'reserved') return { kind: 'admitted', sandbox_id: plan.row.id, turn: reserved.turn };
  if (reserved.kind === 'replay') return { kind: 'replayed', sandbox_id: reserved.sandbox_id };
  return reserved;
}

/** The spawn is in flight before its row exists: reconciliation must never see the row without it. */
async function reserveRow(deps: ReserveDeps, placing: ReserveRequest): Promise<Attempt<Reserved>> {
  const { plan, provider, claim } = placing;
  const flight = deps.spawns.begin(plan.row.id);
  try {
    const reserved = await writeRow(deps, placing, deps.replica);
    if (reserved.kind === 'reserved')
      return { admitted: { plan: placed(plan, reserved.sandbox), provider, flight } };
    flight.end();
    if (reserved.kind === 'denied') return { denied: reserved.decision };
    if (reserved.kind === 'replay') return { admitted: { sandbox: replayed(claim, reserved) } };
    throw noTicket();
  } catch (error) {
    flight.end();
    throw error;
  }
}

const noTicket = () => new Error('a spawn without a ticket cannot lose it');

/** Writes the row for `starter`, which starts the sandbox. */
async function writeRow(
  { sandboxes, publisher, settings, fleet, deadlineSet }: ReserveDeps,
  { plan, provider, claim }: ReserveRequest,
  starter: string,
  ticket?: ReserveOrder['ticket'],
): Promise<Exclude<Reservation, { kind: 'gone' }>> {
  const events = [publisher.draft('sandbox.created', plan.row, plan.row.created_by)];
  const placement = placementOf({ fleet, settings }, plan, provider);
  const limits = { ...settings.limits(provider.kind), placement };
  const sandbox = { ...plan.row, replica_id: starter };
  const reserved = await sandboxes.reserve({ sandbox, limits, events, claim, ticket });
  if (reserved.kind === 'gone') throw new Error('only a prewarmed sandbox can be missing');
  if (reserved.kind === 'reserved') {
    publisher.committed(reserved.events);
    deadlineSet();
  }
  return reserved;
}

/** The processors of this host neither limit other workers nor cause their warnings: workers apply their own. */
export function placed(plan: SpawnPlan, row: SandboxRecord): SpawnPlan {
  if (row.worker_id === LOCAL_WORKER) return { ...plan, row };
  return { ...plan, row: { ...row, vcpus: plan.vcpus }, warnings: [] };
}

/** In a pool this server runs all sandboxes. Setup commands need a worker with sessions. */
export function placementOf(
  { fleet, settings }: Pick<ReserveDeps, 'settings'> & { fleet: Pick<Fleet, 'abilities' | 'placement'> },
  { setup, demand: asked, image, isElsewhere }: Pick<SpawnPlan, 'setup' | 'demand' | 'image' | 'isElsewhere'>,
  provider: Provider,
  sessions = setup.length > 0,
): PlacementLimits {
  const remote = settings.pool === undefined;
  const images = image === undefined ? undefined : imageForms(image);
  const capability = asked?.capability;
  const among = capability === undefined ? undefined : fleet.abilities.knownAble(provider.kind, capability);
  const demand = asked && { ...asked, ...(among && { among }) };
  const local = isLocal(provider) && isElsewhere !== true;
  return fleet.placement({ local, remote, sessions, demand, images });
}
