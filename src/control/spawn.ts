// The story of a spawn (api.md part 2): template → plan → reserve in one transaction → start (start.ts) → answer.
// From the reservation on it is finished whether or not the client still waits.
import type { Provider } from '../providers/provider.ts';
import type { Sandbox, SpawnRequest } from '../schema/sandbox.ts';
import type {
  IdempotencyClaim,
  IdempotencyStore,
  SandboxRecord,
  SandboxStore,
  TemplateStore,
} from '../store/store.ts';
import { admissionRefused } from './admission.ts';
import { type ChooseDeps, chooseProvider } from './choose.ts';
import { claimWarm } from './claim.ts';
import type { Caller } from './control-plane.ts';
import { type Keyed, replayed, SharedSpawns, spawnClaim } from './idempotency.ts';
import type { LimitsOf } from './owner-limits.ts';
import { planSpawn, type SpawnPlan, spawnOwner } from './plan.ts';
import type { Prewarm } from './prewarm.ts';
import type { Subject } from './publish.ts';
import type { Spawns } from './spawns.ts';
import { type StartDeps, startSandbox } from './start.ts';
import { withTemplate } from './template-request.ts';
import { shownTo } from './views.ts';
import { shapeOf } from './warm-plan.ts';

export interface SpawnDeps extends ChooseDeps, Omit<StartDeps, 'providers'> {
  sandboxes: SandboxStore;
  prewarm: Prewarm;
  templates: Pick<TemplateStore, 'get'>;
  idempotency: Pick<IdempotencyStore, 'find'>;
  spawns: Spawns;
  limitsOf: LimitsOf;
  cpus: number;
  /** A row with a deadline has been written. */
  deadlineSet(): void;
}

export class Spawner {
  readonly #deps: SpawnDeps;
  readonly #shared = new SharedSpawns();

  constructor(deps: SpawnDeps) {
    this.#deps = deps;
  }

  async spawn(request: SpawnRequest, caller: Caller, keyed: Keyed, signal: AbortSignal): Promise<Sandbox> {
    const claim = spawnClaim(keyed, request, caller);
    if (!claim) return shownTo(caller, await this.#spawn(request, caller, { signal }));
    // Others may wait for this one: that its own client has gone must not end it.
    const spawn = () => this.#spawn(request, caller, { claim });
    return shownTo(caller, await this.#shared.run(claim, signal, spawn));
  }

  async #spawn(
    asked: SpawnRequest,
    caller: Caller,
    options: { claim?: IdempotencyClaim; signal?: AbortSignal },
  ): Promise<Sandbox> {
    const { settings, cpus, clock, ids, publisher, spawns } = this.#deps;
    let subject: Subject = caller.owner === undefined ? {} : { owner_id: caller.owner };
    try {
      // Before all else: neither a template that has changed nor a limit matters to what is answered already.
      const known = options.claim && (await this.#deps.idempotency.find(options.claim));
      if (known) return replayed(options.claim, known);
      const { request, setup, template } = await withTemplate(this.#deps.templates, asked);
      const provider = await chooseProvider(this.#deps, request.provider);
      subject = { ...subject, provider: provider.kind };
      const limits = await this.#deps.limitsOf(spawnOwner(request, caller, settings));
      const facts = { settings, cpus, provider, limits, setup, id: ids.sandbox(), now: clock.now() };
      const plan = planSpawn(request, caller, facts);
      options.signal?.throwIfAborted();
      const shape = template && template.prewarm > 0 ? shapeOf(template, plan) : undefined;
      const taken = await this.#claim(plan, shape, options.claim);
      if (taken) return taken;
      // In flight before the row exists: reconcile must never see it without its spawn.
      return await spawns.run(plan.row.id, async (signal) => {
        const admitted = await this.#reserve(plan, provider, options.claim);
        if ('replay' in admitted) return admitted.replay;
        subject = admitted.row;
        await this.#deps.prewarm.makeRoom(provider.kind, settings.limits(provider.kind));
        return startSandbox(this.#deps, { ...plan, row: admitted.row }, provider, signal);
      });
    } catch (error) {
      // What went wrong after the reservation has been told by then.
      if (subject.id === undefined) publisher.refusal('sandbox.spawn', subject, error);
      throw error;
    }
  }

  /** A ready sandbox of this shape, now the caller's; undefined when there is none. */
  async #claim(
    plan: SpawnPlan,
    shape: string | undefined,
    claim: IdempotencyClaim | undefined,
  ): Promise<Sandbox | undefined> {
    const taken = await claimWarm(this.#deps, plan, shape, claim);
    if (taken === undefined) return undefined;
    if ('decision' in taken) throw admissionRefused(taken.decision);
    if ('fingerprint' in taken) return replayed(claim, taken);
    this.#deps.deadlineSet();
    return taken.sandbox;
  }

  async #reserve(
    plan: SpawnPlan,
    provider: Provider,
    claim: IdempotencyClaim | undefined,
  ): Promise<{ row: SandboxRecord } | { replay: Sandbox }> {
    const { sandboxes, publisher, settings } = this.#deps;
    const events = [publisher.draft('sandbox.created', plan.row)];
    const reservation = await sandboxes.reserve(plan.row, settings.limits(provider.kind), events, claim);
    if (reservation.kind === 'denied') throw admissionRefused(reservation.decision);
    if (reservation.kind === 'replay') return { replay: replayed(claim, reservation) };
    if (reservation.kind === 'gone') throw new Error('only a warm sandbox can be gone');
    publisher.committed(reservation.events);
    this.#deps.deadlineSet();
    return { row: reservation.sandbox };
  }
}
