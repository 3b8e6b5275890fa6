// The story of a spawn (api.md part 2): plan → reserve in one transaction → provider → running → events → answer.
// From the reservation on it is finished whether or not the client still waits.
import type { Clock, Ids } from '../domain/ports.ts';
import type { Created, Provider } from '../providers/provider.ts';
import type { Sandbox, SpawnRequest } from '../schema/sandbox.ts';
import type { IdempotencyClaim, SandboxRecord, SandboxStore } from '../store/store.ts';
import type { Abandon } from './abandon.ts';
import { admissionRefused } from './admission.ts';
import { type ChooseDeps, chooseProvider } from './choose.ts';
import type { Caller } from './control-plane.ts';
import { replayed, SharedSpawns, spawnClaim } from './idempotency.ts';
import { planSpawn, type SpawnPlan } from './plan.ts';
import type { Publisher, Subject } from './publish.ts';
import type { Settings } from './settings.ts';
import { destroyedMeanwhile, type Spawns } from './spawns.ts';
import { sandboxView, shownTo } from './views.ts';

export interface SpawnDeps extends ChooseDeps {
  sandboxes: SandboxStore;
  publisher: Publisher;
  spawns: Spawns;
  abandon: Abandon;
  settings: Settings;
  cpus: number;
  clock: Clock;
  ids: Ids;
  /** A row with a deadline has been written. */
  deadlineSet(): void;
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
    key: string | undefined,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    if (key === undefined) return shownTo(caller, await this.#spawn(request, caller, { signal }));
    const claim = spawnClaim(key, request, caller);
    // Others may wait for this one: that its own client has gone must not end it.
    const spawn = () => this.#spawn(request, caller, { claim });
    return shownTo(caller, await this.#shared.run(claim, signal, spawn));
  }

  async #spawn(
    request: SpawnRequest,
    caller: Caller,
    options: { claim?: IdempotencyClaim; signal?: AbortSignal },
  ): Promise<Sandbox> {
    const { settings, cpus, clock, ids, publisher, spawns } = this.#deps;
    let subject: Subject = caller.owner === undefined ? {} : { owner_id: caller.owner };
    try {
      const provider = await chooseProvider(this.#deps, request.provider);
      subject = { ...subject, provider: provider.kind };
      const plan = planSpawn(request, caller, {
        settings,
        cpus,
        provider,
        id: ids.sandbox(),
        now: clock.now(),
      });
      options.signal?.throwIfAborted();
      // In flight before the row exists: reconcile must never see it without its spawn.
      return await spawns.run(plan.row.id, async (signal) => {
        const admitted = await this.#reserve(plan, provider, options.claim);
        if ('replay' in admitted) return admitted.replay;
        subject = admitted.row;
        return this.#start({ ...plan, row: admitted.row }, provider, signal);
      });
    } catch (error) {
      // What a provider did wrong has been told by then.
      if (subject.id === undefined) publisher.refusal('sandbox.spawn', subject, error);
      throw error;
    }
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
    publisher.committed(reservation.events);
    this.#deps.deadlineSet();
    return { row: reservation.sandbox };
  }

  async #start(plan: SpawnPlan, provider: Provider, signal: AbortSignal): Promise<Sandbox> {
    const { publisher, abandon } = this.#deps;
    const { row } = plan;
    try {
      const created = await provider.create(runtimeSpec(plan), signal);
      const sandbox = await this.#running(row, created, [...plan.warnings, ...created.warnings]);
      if (sandbox) return sandbox;
    } catch (error) {
      if (!signal.aborted) {
        publisher.failure('sandbox.spawn', row, error, 'provider.failed');
        await abandon(row);
        throw error;
      }
    }
    // Cancelled by a destroy: that owns the row now and finds the runtime by its label.
    throw destroyedMeanwhile();
  }

  async #running(row: SandboxRecord, created: Created, warnings: string[]): Promise<Sandbox | undefined> {
    const { sandboxes, publisher } = this.#deps;
    const { runtime_id, image, memory_mb, vcpus } = created;
    const patch = { state: 'running', runtime_id, image, memory_mb, vcpus } as const;
    const running = { ...row, ...patch };
    const moved = await sandboxes.transition({
      id: row.id,
      from: ['creating'],
      epoch: row.epoch,
      patch,
      events: [publisher.draft('sandbox.running', running)],
      response: JSON.stringify(sandboxView(running, warnings)),
    });
    if (!moved) return undefined;
    publisher.committed(moved.events);
    return sandboxView(moved.sandbox, warnings);
  }
}

function runtimeSpec({ row, image }: SpawnPlan) {
  const { id, epoch, memory_mb, vcpus, network, expires_at } = row;
  return { id, epoch, image, memory_mb, vcpus, network, expires_at };
}
