// Spawns sandboxes (docs/design/api.md#sandboxes): template → plan → reservation, at once or after a wait (queue.ts,
// reserve.ts) → start (start.ts) → answer. With an Idempotency-Key a spawn finishes even when the client disconnects,
// since it may ask again; without one the sandbox is ended, since no client knows its id.
import type { SystemActor } from '../../domain/actor.ts';
import { betterDenial, isPlaceless, requestOfRow } from '../../domain/admission.ts';
import { defined } from '../../domain/defined.ts';
import type { OwnerLimits } from '../../domain/quota.ts';
import { ttlRefused } from '../../domain/ttl.ts';
import { demandKey } from '../../domain/worker-demand.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import type { TemplateStore } from '../../store/seam/templates.ts';
import type { IdempotencyClaim, IdempotencyStore, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { SpawnQueue } from '../queue/queue.ts';
import type { Attempt } from '../queue/ticket.ts';
import type { Subject } from '../records/publish.ts';
import type { LimitsOf } from '../records/settings.ts';
import { shownTo } from '../records/views.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import { alternatives, type ChooseDeps, chooseProvider, suggestProviders } from './choose.ts';
import { replayed, SharedSpawns, type SpawnOptions, spawnClaim } from './idempotency.ts';
import { planSpawn, type SpawnPlan, spawnOwner } from './plan.ts';
import { type ReserveDeps, type Reserved, refuseLocally, reserveSandbox } from './reserve.ts';
import { type StartDeps, startSandbox } from './start.ts';
import { shapeOf } from './take-prewarmed.ts';
import { withTemplate } from './template-request.ts';

export interface SpawnDeps
  extends ChooseDeps,
    ReserveDeps,
    Omit<StartDeps, 'prewarm' | 'providers' | 'sandboxes'> {
  sandboxes: SandboxStore;
  templates: Pick<TemplateStore, 'get'>;
  idempotency: Pick<IdempotencyStore, 'find'>;
  queue: SpawnQueue;
  destroyer: Pick<Destroyer, 'mark' | 'finishLater'>;
  limitsOf: LimitsOf;
  cpus: number;
}

interface SpawnCall {
  request: SpawnRequest;
  caller: Caller;
  claim: IdempotencyClaim | undefined;
  /** Aborts when the client disconnects, or all clients that share the spawn. */
  signal: AbortSignal;
}

export class Spawner {
  readonly #deps: SpawnDeps;
  readonly #shared = new SharedSpawns();

  constructor(deps: SpawnDeps) {
    this.#deps = deps;
  }

  async spawn(
    request: SpawnRequest,
    caller: Caller,
    options: SpawnOptions,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const claim = spawnClaim(options, request, caller);
    const spawn = (signal: AbortSignal) => this.#spawn({ request, caller, claim, signal });
    const sandbox = await (claim ? this.#shared.run(claim, signal, spawn) : spawn(signal));
    return shownTo(caller, sandbox, this.#deps.settings);
  }

  async #spawn(call: SpawnCall): Promise<Sandbox> {
    const { caller, claim, signal } = call;
    let subject: Subject = defined({ owner_id: caller.owner });
    try {
      // Checked first: neither a changed template nor a limit matters to a stored answer.
      const known = claim && (await this.#deps.idempotency.find(claim));
      if (known) return replayed(claim, known);
      const order = await this.#order(call, (provider) => {
        subject = { ...subject, provider };
      });
      signal.throwIfAborted();
      const placed = await this.#deps.queue.admit(order, signal);
      if (!claim) this.#endDisconnected('sandbox' in placed ? placed.sandbox.id : placed.plan.row.id, signal);
      if ('sandbox' in placed) return placed.sandbox;
      subject = placed.plan.row;
      return await startSandbox(this.#deps, placed)
        .catch(async (error: unknown) => {
          throw await suggestProviders(this.#deps, placed.provider.kind, error);
        })
        .finally(() => placed.flight.end());
    } catch (error) {
      // Failures after the reservation are published elsewhere; failures of a disconnected client are not published.
      const isPublished = subject.id !== undefined || signal.aborted;
      if (!isPublished) this.#deps.publisher.refusal('sandbox.spawn', subject, error, caller.actor);
      throw error;
    }
  }

  /** Ends the sandbox if the client disconnects before the answer is sent; later `signal` can no longer abort. */
  #endDisconnected(id: string, signal: AbortSignal): void {
    const { destroyer, logger } = this.#deps;
    const end = async () => {
      try {
        const marked = await destroyer.mark(id, 'destroyed', 'system:disconnected' satisfies SystemActor);
        if (marked) destroyer.finishLater(marked);
      } catch (err) {
        const left = 'Could not end a sandbox whose client disconnected; it lives until its deadline.';
        logger.warn({ sandbox_id: id, err }, left);
      }
    };
    if (signal.aborted) void end();
    else signal.addEventListener('abort', () => void end(), { once: true });
  }

  /** Completes and validates the request, so that it can wait in the queue. */
  async #order({ request: short, caller, claim }: SpawnCall, chose: (provider: string) => void) {
    const { settings, cpus, clock, ids, limitsOf } = this.#deps;
    const owner_id = spawnOwner(short, caller, settings);
    const { request, setup, template } = await withTemplate(this.#deps.templates, short, owner_id);
    const provider = await chooseProvider(this.#deps, request.provider);
    chose(provider.kind);
    const names = { id: ids.sandbox(), ...(settings.pool && { vm_id: ids.vm() }) };
    const asksNetwork = short.network === 'default';
    const planned = (provider: Provider, limits: OwnerLimits) => {
      const facts = { settings, cpus, provider, setup, asksNetwork, limits, now: clock.now() };
      return planSpawn(request, caller, { ...facts, ...names });
    };
    const limits = await limitsOf(owner_id);
    const first = planned(provider, limits);
    // Refused before the spawn waits, since no capacity would help it.
    const { maxTtlMs } = limits;
    if (maxTtlMs > 0 && requestOfRow(first.row).ttlMs > maxTtlMs) throw ttlRefused(maxTtlMs);
    await refuseLocally(this.#deps, first, provider);
    const reserve = (plan: SpawnPlan, provider: Provider) => {
      const hasWarm = template && template.prewarm > 0 && !settings.pool;
      const shape = hasWarm ? shapeOf(template, plan) : undefined;
      return reserveSandbox(this.#deps, { plan, provider, shape, claim });
    };
    const others = () => alternatives(this.#deps, request.provider, provider);
    // The first plan serves the first attempt. After a wait, time and limits have moved on: it is planned again.
    const attempt = async (hasWaited: boolean) => {
      const now = hasWaited ? await limitsOf(owner_id) : limits;
      const planOf = (each: Provider) => (hasWaited || each !== provider ? planned(each, now) : first);
      return firstReservation((each) => reserve(planOf(each), each), provider, others);
    };
    const demand = first.demand && demandKey(first.demand);
    return { owner_id, actor: caller.actor, provider: provider.kind, demand, attempt };
  }
}

/** Reserves with the chosen provider, else with the first other one that has capacity. */
async function firstReservation(
  reserve: (provider: Provider) => Promise<Attempt<Reserved>>,
  chosen: Provider,
  others: () => Promise<Provider[]>,
): Promise<Attempt<Reserved>> {
  let came = await reserve(chosen);
  if ('admitted' in came || !isPlaceless(came.denied)) return came;
  for (const other of await others()) {
    const next = await reserve(other);
    if ('admitted' in next) return next;
    came = { denied: betterDenial(came.denied, next.denied) };
  }
  return came;
}
