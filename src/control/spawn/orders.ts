// Prepares spawns: the request is completed and validated, and can then wait, in memory or as a ticket in the store, until an
// attempt reserves capacity for it.
import { betterDenial, isPlaceless, requestOfRow } from '../../domain/admission.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
import { effectiveLimits, type OwnerLimits } from '../../domain/quota.ts';
import { ttlRefused } from '../../domain/ttl.ts';
import { demandKey } from '../../domain/worker-demand.ts';
import type { Provider } from '../../providers/provider.ts';
import type { SandboxEgress } from '../../schema/egress.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateStore } from '../../store/seam/templates.ts';
import type { Ticket } from '../../store/seam/tickets.ts';
import type { IdempotencyClaim, IdempotencyStore, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { TicketAttempt } from '../queue/desk.ts';
import type { Attempt, StoredApplicant } from '../queue/ticket.ts';
import type { LimitsOf } from '../records/settings.ts';
import { sandboxView } from '../records/views.ts';
import type { Credentials } from '../runtime/credentials.ts';
import type { Demand, PlainRequest } from '../runtime/demand.ts';
import { endOfSpawn, type InFlightSpawn } from '../runtime/in-flight-spawns.ts';
import { alternatives, type ChooseDeps, chooseProvider, providerOf } from './choose.ts';
import { egressPlace, egressWish, withCredentials } from './egress.ts';
import { otherBody, replayed } from './idempotency.ts';
import { autoShape, plainRequest } from './plain.ts';
import { planSpawn, type SpawnPlan, spawnOwner } from './plan.ts';
import {
  placed,
  type ReserveDeps,
  type Reserved,
  type ReserveRequest,
  refuseLocally,
  reserveSandbox,
  reserveTicket,
} from './reserve.ts';
import { shapeOf, type TemplateShape, templateShape } from './take-prewarmed.ts';
import { withTemplate } from './template-request.ts';

export interface OrderDeps extends ChooseDeps, ReserveDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'getWithQuota' | 'reserve' | 'transition'>;
  templates: Pick<TemplateStore, 'get'>;
  idempotency: Pick<IdempotencyStore, 'find'>;
  demand: Pick<Demand, 'note'>;
  credentials: Pick<Credentials, 'wish'>;
  limitsOf: LimitsOf;
  cpus: number;
  clock: Clock;
  ids: Ids;
}

export interface SpawnCall {
  request: SpawnRequest;
  caller: Caller;
  claim: IdempotencyClaim | undefined;
}

/** What attempts need, as JSON: it may wait in the store. */
interface StoredSpawn {
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
interface Names {
  id: string;
  vm_id?: string;
}

export class SpawnOrders {
  readonly #deps: OrderDeps;

  constructor(deps: OrderDeps) {
    this.#deps = deps;
  }

  /** Completes and validates the request, so that it can wait in the queue. */
  async prepare(
    { request: short, caller, claim }: SpawnCall,
    chose: (provider: string) => void,
  ): Promise<StoredApplicant<Reserved>> {
    const { settings, ids, limitsOf } = this.#deps;
    const owner_id = spawnOwner(short, caller, settings);
    const full = await withTemplate(this.#deps.templates, short, owner_id);
    const { setup, template } = full;
    const { egress: wish, request } = await withCredentials(this.#deps, full.request, {
      wish: egressWish(short, template, settings),
      owner_id,
    });
    const provider = await chooseProvider(this.#deps, request.provider);
    chose(provider.kind);
    const place = wish && (await egressPlace(this.#deps, provider, { wish, worker_id: request.worker_id }));
    const names = { id: ids.sandbox(), ...(settings.pool && { vm_id: ids.vm() }) };
    const asksNetwork = short.network === 'default';
    const shape = template && templateShape(template);
    const asked = { request, setup, asksNetwork, provider: provider.kind, caller };
    const stored = place ? { ...asked, ...place } : asked;
    const spawn: StoredSpawn = shape ? { ...stored, template: shape } : stored;
    const limits = await limitsOf(owner_id);
    const first = this.#plan(spawn, provider, limits, names);
    // Refused before the spawn waits, since no capacity would help it.
    const { maxTtlMs } = limits;
    if (maxTtlMs > 0 && requestOfRow(first.row).ttlMs > maxTtlMs) throw ttlRefused(maxTtlMs);
    await refuseLocally(this.#deps, first, provider);
    // The first plan serves the first attempt. After a wait, time and limits have moved on: it is planned again.
    const attempt = async (hasWaited: boolean) => {
      const now = hasWaited ? await limitsOf(owner_id) : limits;
      const planOf = (each: Provider) =>
        hasWaited || each !== provider ? this.#plan(spawn, each, now, names) : first;
      return this.#firstWithCapacity(spawn, provider, async (each) => {
        const reserving = this.#reserving(spawn, planOf(each), each, claim);
        const tried = await reserveSandbox(this.#deps, reserving);
        if ('admitted' in tried) this.#note(reserving);
        return tried;
      });
    };
    const demand = first.demand && demandKey(first.demand);
    const facts = { owner_id, actor: caller.actor, provider: provider.kind, demand };
    return { ...facts, attempt, ...this.#waiting({ ...facts, id: names.id, claim }, spawn) };
  }

  /** What an applicant needs to wait as a ticket. */
  #waiting(
    facts: Pick<StoredApplicant<Reserved>, 'owner_id' | 'provider' | 'demand'> & {
      id: string;
      claim: IdempotencyClaim | undefined;
    },
    spawn: StoredSpawn,
  ): Pick<StoredApplicant<Reserved>, 'ticket' | 'hold' | 'resume' | 'otherRequest'> {
    let flight: InFlightSpawn | undefined;
    const { id, claim, owner_id = '', provider, demand } = facts;
    return {
      ticket: () => ({
        id,
        owner_id,
        provider,
        spawn: JSON.stringify(spawn),
        ...(demand !== undefined && { demand }),
        ...(claim && { claim }),
      }),
      // The row is written by another process: it must not appear here without its flight.
      hold: (id) => {
        const begun = this.#deps.spawns.begin(id);
        flight = begun;
        return { release: () => begun.end() };
      },
      resume: (ticket, sandbox_id) =>
        this.#resume(ticket, sandbox_id, flight as InFlightSpawn).catch((error: unknown) => {
          if (!claim) this.#deps.openOutcomes.failed(sandbox_id, error);
          throw error;
        }),
      otherRequest: otherBody,
    };
  }

  /** Tries to admit the spawn of a ticket; its home starts the sandbox. */
  async attempt({ id, home, claim, spawn: json }: Ticket, limits: OwnerLimits): Promise<TicketAttempt> {
    const spawn = JSON.parse(json) as StoredSpawn;
    const chosen = providerOf(this.#deps, spawn.provider);
    const tried = await this.#firstWithCapacity<TicketAttempt>(spawn, chosen, async (provider) => {
      const plan = this.#plan(spawn, provider, limits, { id });
      const reserving = this.#reserving(spawn, plan, provider, claim);
      const tried = await reserveTicket(this.#deps, reserving, { id, home });
      if (tried.kind === 'admitted') this.#note(reserving);
      return tried.kind === 'denied' ? { denied: tried.decision } : { admitted: tried };
    });
    return 'admitted' in tried ? tried.admitted : { kind: 'denied', decision: tried.denied };
  }

  /** Continues a spawn that another process has admitted. */
  async #resume(ticket: Ticket, sandbox_id: string, flight: InFlightSpawn): Promise<Reserved> {
    const { sandboxes, idempotency, replica, settings } = this.#deps;
    const { claim } = ticket;
    const { sandbox: row, quota } = (await sandboxes.getWithQuota(sandbox_id)) ?? {};
    if (row?.state === 'creating' && row.replica_id === replica && !flight.signal.aborted) {
      const spawn = JSON.parse(ticket.spawn) as StoredSpawn;
      const provider = providerOf(this.#deps, row.provider as ProviderKind);
      const limits = effectiveLimits(quota, settings.ownerLimits);
      const plan = this.#plan(spawn, provider, limits, { id: row.id });
      return { plan: placed(plan, row), provider, flight };
    }
    const known = claim && (await idempotency.find(claim));
    if (known) return this.#ended(flight, { sandbox: replayed(claim, known) });
    if (row?.state === 'running') return this.#ended(flight, { sandbox: sandboxView(row) });
    throw await endOfSpawn(sandboxes, sandbox_id);
  }

  #ended(flight: InFlightSpawn, reserved: Reserved): Reserved {
    flight.end();
    return reserved;
  }

  #plan(spawn: StoredSpawn, provider: Provider, limits: OwnerLimits, names: Names): SpawnPlan {
    const { settings, cpus, clock } = this.#deps;
    const { request, caller, setup, asksNetwork, egress, isElsewhere } = spawn;
    const asked = { setup, asksNetwork, egress, isElsewhere };
    const facts = { settings, cpus, provider, ...asked, limits, now: clock.now() };
    return planSpawn(request, caller, { ...facts, ...names });
  }

  #reserving(
    { template }: StoredSpawn,
    plan: SpawnPlan,
    provider: Provider,
    claim: IdempotencyClaim | undefined,
  ): ReserveRequest & { plain: PlainRequest | undefined } {
    const { pool, autoPrewarm } = this.#deps.settings;
    const plain = autoPrewarm && !template ? plainRequest(plan) : undefined;
    const shape = template && !pool ? shapeOf(template, plan) : plain && autoShape(plan);
    return { plan, provider, shape, claim, plain };
  }

  #note({ plain, plan }: { plain: PlainRequest | undefined; plan: SpawnPlan }): void {
    if (plain) this.#deps.demand.note(plain, plan.row.owner_id);
  }

  /** Reserves with the chosen provider, else with the first other one that has capacity. */
  async #firstWithCapacity<T>(
    { request, egress }: StoredSpawn,
    chosen: Provider,
    reserve: (provider: Provider) => Promise<Attempt<T>>,
  ): Promise<Attempt<T>> {
    let came = await reserve(chosen);
    // Other providers are those of workers.
    if ('admitted' in came || egress || !isPlaceless(came.denied)) return came;
    for (const other of await alternatives(this.#deps, request.provider, chosen)) {
      const next = await reserve(other);
      if ('admitted' in next) return next;
      came = { denied: betterDenial(came.denied, next.denied) };
    }
    return came;
  }
}
