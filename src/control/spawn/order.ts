// One spawn that is complete and valid: it waits, in memory or as a ticket in the store, until an attempt reserves capacity for
// it. Ten thousand may wait, so it has methods, and no closures of its own.
import { betterDenial, isPlaceless } from '../../domain/admission.ts';
import type { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { effectiveLimits, type OwnerLimits } from '../../domain/quota.ts';
import { demandKey } from '../../domain/worker-demand.ts';
import type { Provider } from '../../providers/provider.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { Ticket } from '../../store/seam/tickets.ts';
import type { IdempotencyClaim, IdempotencyStore, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Attempt, StoredApplicant } from '../queue/ticket.ts';
import type { LimitsOf } from '../records/settings.ts';
import { sandboxView } from '../records/views.ts';
import type { Demand, PlainRequest } from '../runtime/demand.ts';
import { endOfSpawn, type InFlightSpawn } from '../runtime/in-flight-spawns.ts';
import { alternatives, type ChooseDeps, providerOf } from './choose.ts';
import { otherBody, replayed } from './idempotency.ts';
import { autoShape, plainRequest } from './plain.ts';
import { planSpawn, type SpawnPlan } from './plan.ts';
import { placed, type ReserveDeps, type Reserved, type ReserveRequest, reserveSandbox } from './reserve.ts';
import { shapeOf, type TemplateShape } from './take-prewarmed.ts';

export interface OrderDeps extends ChooseDeps, ReserveDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'getWithQuota' | 'reserve' | 'transition'>;
  idempotency: Pick<IdempotencyStore, 'find'>;
  demand: Pick<Demand, 'note'>;
  limitsOf: LimitsOf;
  cpus: number;
  clock: Clock;
}

/** What attempts need, as JSON: it may wait in the store. */
export interface StoredSpawn {
  /** The request with the values of its template. */
  request: SpawnRequest;
  setup: readonly string[];
  template?: TemplateShape;
  asksNetwork: boolean;
  /** The policies of the spawn and its template. */
  egress?: SandboxEgress;
  /** This server cannot hold them. */
  isElsewhere?: boolean;
  provider: ProviderKind;
  caller: Caller;
}

/** The ids that a plan uses. */
export interface Names {
  id: string;
  vm_id?: string;
}

/** What an order is made of. */
export interface OrderParts {
  spawn: StoredSpawn;
  owner_id: string | undefined;
  chosen: Provider;
  names: Names;
  claim: IdempotencyClaim | undefined;
  first: FirstPlan;
}

/** Serves an attempt at once. After a wait, time and limits have moved on: the spawn is planned again. */
export interface FirstPlan {
  plan: SpawnPlan;
  limits: OwnerLimits;
}

export class Order implements StoredApplicant<Reserved> {
  readonly owner_id: string | undefined;
  readonly provider: ProviderKind;
  readonly demand: string | undefined;
  readonly #deps: OrderDeps;
  readonly #spawn: StoredSpawn;
  readonly #chosen: Provider;
  readonly #names: Names;
  readonly #claim: IdempotencyClaim | undefined;
  #first: FirstPlan | undefined;
  #flight: InFlightSpawn | undefined;

  constructor(deps: OrderDeps, { spawn, owner_id, chosen, names, claim, first }: OrderParts) {
    this.owner_id = owner_id;
    this.provider = chosen.kind;
    this.demand = first.plan.demand && demandKey(first.plan.demand);
    this.#deps = deps;
    this.#spawn = spawn;
    this.#chosen = chosen;
    this.#names = names;
    this.#claim = claim;
    this.#first = first;
  }

  get actor(): string {
    return this.#spawn.caller.actor;
  }

  waits(): void {
    this.#first = undefined;
  }

  async attempt(): Promise<Attempt<Reserved>> {
    const first = this.#first;
    const limits = first?.limits ?? (await this.#deps.limitsOf(this.owner_id));
    return firstWithCapacity(this.#deps, this.#spawn, this.#chosen, async (provider) => {
      const plan =
        first && provider === this.#chosen
          ? first.plan
          : planOf(this.#deps, this.#spawn, provider, { limits, names: this.#names });
      const reserving = reservingOf(this.#deps, this.#spawn, plan, { provider, claim: this.#claim });
      const tried = await reserveSandbox(this.#deps, reserving);
      if ('admitted' in tried) noteDemand(this.#deps, reserving);
      return tried;
    });
  }

  ticket(): Omit<Ticket, 'home'> {
    return {
      id: this.#names.id,
      owner_id: this.owner_id ?? '',
      provider: this.provider,
      spawn: JSON.stringify(this.#spawn),
      ...(this.demand !== undefined && { demand: this.demand }),
      ...(this.#claim && { claim: this.#claim }),
    };
  }

  /** The row is written by another process: it must not appear here without its flight. */
  hold(id: string): { release(): void } {
    const begun = this.#deps.spawns.begin(id);
    this.#flight = begun;
    return { release: () => begun.end() };
  }

  async resume(ticket: Ticket, sandbox_id: string): Promise<Reserved> {
    try {
      return await resumed(this.#deps, ticket, sandbox_id, this.#flight as InFlightSpawn);
    } catch (error) {
      if (!this.#claim) this.#deps.openOutcomes.failed(sandbox_id, error);
      throw error;
    }
  }

  otherRequest(): ServiceError {
    return otherBody();
  }
}

export function planOf(
  { settings, cpus, clock }: OrderDeps,
  { request, caller, setup, asksNetwork, egress, isElsewhere }: StoredSpawn,
  provider: Provider,
  { limits, names: { id, vm_id } }: { limits: OwnerLimits; names: Names },
): SpawnPlan {
  // One literal: V8 takes 4 µs for a copy with four more members, and one of these is made for each spawn, also for a refused one.
  return planSpawn(request, caller, {
    settings,
    cpus,
    provider,
    limits,
    id,
    vm_id,
    now: clock.now(),
    setup,
    asksNetwork,
    egress,
    isElsewhere,
  });
}

export function reservingOf(
  { settings: { pool, autoPrewarm } }: OrderDeps,
  { template }: StoredSpawn,
  plan: SpawnPlan,
  { provider, claim }: { provider: Provider; claim: IdempotencyClaim | undefined },
): ReserveRequest & { plain: PlainRequest | undefined } {
  const plain = autoPrewarm && !template ? plainRequest(plan) : undefined;
  const shape = template && !pool ? shapeOf(template, plan) : plain && autoShape(plan);
  return { plan, provider, shape, claim, plain };
}

/** An admitted spawn counts as demand. */
export function noteDemand(
  { demand }: OrderDeps,
  { plain, plan }: { plain: PlainRequest | undefined; plan: SpawnPlan },
): void {
  if (plain) demand.note(plain, plan.row.owner_id);
}

/** Reserves with the chosen provider, else with the first other one that has capacity. */
export async function firstWithCapacity<T>(
  deps: OrderDeps,
  { request, egress }: StoredSpawn,
  chosen: Provider,
  reserve: (provider: Provider) => Promise<Attempt<T>>,
): Promise<Attempt<T>> {
  let came = await reserve(chosen);
  // Other providers are those of workers.
  if ('admitted' in came || egress || !isPlaceless(came.denied)) return came;
  for (const other of await alternatives(deps, request.provider, chosen)) {
    const next = await reserve(other);
    if ('admitted' in next) return next;
    came = { denied: betterDenial(came.denied, next.denied) };
  }
  return came;
}

/** Continues a spawn that another process has admitted. */
async function resumed(
  deps: OrderDeps,
  ticket: Ticket,
  sandbox_id: string,
  flight: InFlightSpawn,
): Promise<Reserved> {
  const { sandboxes, idempotency, replica, settings } = deps;
  const { claim } = ticket;
  const { sandbox: row, quota } = (await sandboxes.getWithQuota(sandbox_id)) ?? {};
  if (row?.state === 'creating' && row.replica_id === replica && !flight.signal.aborted) {
    const spawn = JSON.parse(ticket.spawn) as StoredSpawn;
    const provider = providerOf(deps, row.provider as ProviderKind);
    const limits = effectiveLimits(quota, settings.ownerLimits);
    const plan = planOf(deps, spawn, provider, { limits, names: { id: row.id } });
    return { plan: placed(plan, row), provider, flight };
  }
  const known = claim && (await idempotency.find(claim));
  if (known) return ended(flight, { sandbox: replayed(claim, known) });
  if (row?.state === 'running') return ended(flight, { sandbox: sandboxView(row) });
  throw await endOfSpawn(sandboxes, sandbox_id);
}

function ended(flight: InFlightSpawn, reserved: Reserved): Reserved {
  flight.end();
  return reserved;
}
