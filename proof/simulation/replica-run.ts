// One seeded run of several control planes over one store: what it does to them, and what must hold. The invariants are looked
// at in the store and in the workers, never through a control plane.
import { expect } from 'vitest';
import type { ControlPlane } from '../../src/control/api/control-plane.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { TimeStore } from '../../src/store/seam/time.ts';
import type { SandboxRecord } from '../../src/store/store.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import type { StoreFate } from '../../test/support/memory-store/shared.ts';
import { memoryStore } from '../../test/support/memory-store/store.ts';
import { api, forever, owned, type World, world } from '../../test/support/servers/control.ts';
import { type Fate, type SimulatedWorker, simulatedFleet, WORKER_TOKENS } from './fleet.ts';
import { Replica } from './replicas.ts';

const CAP = 15;
const OWNER_CAP = 6;
const OWNERS = ['ann', 'bob'];
const QUEUE = { spawn_overflow: 'queue', spawn_queue_timeout: '40s', max_spawn_queue: 12 } as const;
const REPLICAS = 3;
/** The template whose sandboxes are prewarmed. */
const TEMPLATE = 'py';
const MOST_PREWARMED = 3;
const WORKER_FATES: Fate[] = ['lost', 'late'];
const HOUR_MS = 3_600_000;
const STORE_FATES: StoreFate[] = ['lost', 'late', 'refused'];
/** How long a replica believes to have what another has. Longer ones would leave the roles, and so the time, to nobody. */
const USURPS_MS = 20_000;
/** How long a worker waits for an answer. */
const PATIENCE_MS = 10_000;
/** After a failure for want of an answer a process has by then seen whether there is a sandbox, in all probability. */
const SEEN_MS = 60_000;

export class ReplicaRun {
  readonly w: World;
  readonly replicas: Replica[];
  readonly workers: SimulatedWorker[];
  /** Ids whose spawn was answered with success, and the latest end that an extension was answered with. */
  readonly spawned = new Map<string, string>();
  readonly #destroyed = new Set<string>();
  /** Spawns without a key that failed: where, and when (monotonic ms). */
  readonly #refused = new Map<string, { at: Replica; ms: number }>();
  /** Since when replicas are frozen. */
  readonly #frozen = new Map<Replica, number>();
  #calls = 0;
  /** Ids that were ready for a spawn of the template, at any time. */
  readonly #ready = new Set<string>();
  readonly #surprises: unknown[] = [];
  readonly #random: ReturnType<typeof seededRandom>;
  /** Until when nobody reaches the store, by monotonic time. */
  #awayUntil = 0;
  #isFaulty = false;
  /** How far the clock of the database is ahead. */
  #databaseMs = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const alone = world({
      auth: { worker_tokens: WORKER_TOKENS },
      database: { ended_retention: '8760h' },
      defaults: { max_sandboxes: CAP, max_sandboxes_per_owner: OWNER_CAP, ...QUEUE },
    });
    const store = memoryStore({ ...alone, isShared: true });
    this.w = { ...alone, store: { ...store, time: this.#setTime(store.time!) } };
    this.workers = simulatedFleet(this.#balanced());
    openSessions(this.w, this.workers);
    this.replicas = Array.from(
      { length: REPLICAS },
      (_, n) => new Replica(this.w, () => this.#fate(), (n - 1) * HOUR_MS),
    );
  }

  roll = (sides: number) => this.#random.bytes(4).readUInt32LE() % sides;

  async start(): Promise<void> {
    const { workers, replicas, w } = this;
    for (const replica of replicas) await replica.control.start();
    await this.#any().control.workers.drain('local', true);
    for (const worker of workers) await worker.restart();
    await w.clock.advance(1000);
    await this.#any().control.templates.create({ name: TEMPLATE, image: 'host', prewarm: 2 }, api);
    this.#isFaulty = true;
    for (const worker of workers)
      worker.fate = () => (this.roll(8) === 0 ? (WORKER_FATES[this.roll(2)] ?? 'pass') : 'pass');
  }

  async step(): Promise<void> {
    const { w, roll, workers } = this;
    const one = [...this.spawned.keys()][roll(Math.max(1, this.spawned.size))] ?? 'sb-nobody';
    const worker = workers[roll(workers.length)] as SimulatedWorker;
    const replica = this.#any();
    const deeds: (() => unknown)[] = [
      ...Array(5).fill(() => this.#spawn()),
      ...Array(4).fill(() => this.#spawn({ template: TEMPLATE })),
      () => (roll(3) === 0 ? this.#changeTemplate() : undefined),
      ...Array(2).fill(() =>
        this.#call(
          this.#control()
            .sandboxes.destroy(one, api)
            .then(() => this.#destroyed.add(one)),
        ),
      ),
      ...Array(2).fill(() => this.#extend(one)),
      ...Array(3).fill(() => this.#extendAtTheEnd()),
      () => this.#call(this.#control().sandboxes.get(one, api)),
      () => this.#call(this.#control().sandboxes.prune(api)),
      () => this.#quota(),
      () => Object.assign(worker.cut, { to: roll(2) === 0, from: roll(2) === 0 }),
      ...Array(2).fill(() => Object.assign(worker.cut, { to: false, from: false })),
      () => (roll(3) === 0 ? worker.restart() : undefined),
      () => (roll(2) === 0 ? this.#freeze(replica) : undefined),
      ...Array(2).fill(() => this.#thaw(replica)),
      () => (roll(3) === 0 ? this.#kill(replica) : undefined),
      () => Object.assign(replica, { usurpsUntil: roll(2) * (w.clock.monotonic() + USURPS_MS) }),
      () => (roll(2) === 0 ? this.#goAway(roll(8000)) : undefined),
      () => (roll(8) === 0 ? this.#setDatabaseClock() : undefined),
      ...Array(4).fill(() => w.clock.advance(roll(30_000))),
    ];
    await deeds[roll(deeds.length)]?.();
    await w.clock.advance(roll(500));
  }

  /** Spawns that were answered with a sandbox that had been ready. */
  get taken(): number {
    return [...this.spawned.keys()].filter((id) => this.#ready.has(id)).length;
  }

  #spawn(facts: { template?: string } = {}): void {
    const owner = [...OWNERS, undefined][this.roll(OWNERS.length + 1)];
    const key = this.roll(3) === 0 ? { idempotencyKey: `k${this.roll(20)}${facts.template ?? ''}` } : {};
    const isRepeatable = 'idempotencyKey' in key;
    const call = String(this.#calls++);
    const at = this.#any();
    const spawning = at.control.sandboxes.spawn(
      { ...facts, ttl: `${20 + this.roll(900)}s`, ...(!isRepeatable && { metadata: { call } }) },
      owner === undefined ? api : owned(owner),
      key,
      forever,
    );
    spawning.catch(() => this.#refused.set(call, { at, ms: this.w.clock.monotonic() }));
    this.#call(spawning.then(({ id, expires_at }) => this.#given(id, expires_at, isRepeatable)));
  }

  #freeze(replica: Replica): void {
    if (!replica.isFrozen) this.#frozen.set(replica, this.w.clock.monotonic());
    replica.freeze();
  }

  #thaw(replica: Replica): void {
    this.#frozen.delete(replica);
    replica.thaw();
  }

  /** It alone knew which failed spawns the store may have written: such a sandbox lives until its deadline. */
  #kill(replica: Replica): void {
    const last = this.#frozen.get(replica) ?? this.w.clock.monotonic();
    for (const [call, { at, ms }] of this.#refused)
      if (at === replica && last - ms < SEEN_MS) this.#refused.delete(call);
    this.#frozen.delete(replica);
    void replica.restart();
  }

  #given(id: string, expires_at: string, isRepeatable: boolean): void {
    if (!this.spawned.has(id)) this.spawned.set(id, expires_at);
    else if (!isRepeatable) this.#surprises.push(`${id} was given twice`);
  }

  #extend(id: string): void {
    const ttl = `${1 + this.roll(300)}s`;
    const extending = this.#control().sandboxes.extend(id, { ttl }, api);
    this.#call(
      extending.then(({ expires_at }) => {
        if (expires_at > (this.spawned.get(id) ?? '')) this.spawned.set(id, expires_at);
      }),
    );
  }

  /** Two extensions of the sandbox that ends next, right when it does. */
  async #extendAtTheEnd(): Promise<void> {
    const { clock, store } = this.w;
    const next = await store.sandboxes.nextDeadline();
    const [row] = await store.sandboxes.due(next ?? '', 1);
    const leftMs = Date.parse(next ?? '') - clock.now();
    if (!row || !(leftMs < 60_000)) return;
    await clock.advance(leftMs - 300 + this.roll(310));
    this.#extend(row.id);
    await clock.advance(this.roll(300));
    this.#extend(row.id);
  }

  /** Another shape, and another number of ready ones. */
  #changeTemplate(): void {
    const facts = {
      image: 'host',
      memory_mb: 64 * (1 + this.roll(3)),
      prewarm: this.roll(MOST_PREWARMED + 1),
    };
    this.#call(this.#control().templates.update(TEMPLATE, facts, api, {}));
  }

  #quota(): void {
    const { quotas } = this.#control();
    const owner = OWNERS[this.roll(OWNERS.length)] ?? '';
    const max_sandboxes = this.roll(OWNER_CAP + 1);
    this.#call(this.roll(3) === 0 ? quotas.delete(owner, api) : quotas.put(owner, { max_sandboxes }, api));
  }

  /** What must hold at every instant. */
  async audit(): Promise<void> {
    const { store } = this.w;
    const rows = await store.sandboxes.list({ include_ended: true, limit: 100_000 });
    const known = new Map(rows.map((row) => [row.id, row]));
    const live = new Map(rows.filter(({ ended_at }) => ended_at === undefined).map((row) => [row.id, row]));
    expect(live.size).toBeLessThanOrEqual(CAP);
    const warm = await store.warm.all();
    for (const { id, state } of warm) {
      if (state === 'ready') this.#ready.add(id);
      expect(known.has(id), `${id} is a sandbox and still prewarmed`).toBe(false);
    }
    this.#auditRuntimes(new Map([...live.values(), ...warm].map((row) => [row.id, row])));
    const lent = (await store.leases.list()).map(({ resource_id }) => resource_id);
    expect(lent.sort()).toEqual([...live.keys(), ...warm.map(({ id }) => id)].sort());
    for (const [id, end] of this.spawned) {
      const row = known.get(id);
      expect(row, `${id} is lost`).toBeDefined();
      if (row?.end_reason === 'expired' && row.ended_at !== undefined)
        expect(row.ended_at >= end, `${id} expired before its acknowledged end`).toBe(true);
    }
    for (const id of this.#destroyed)
      if (known.has(id)) expect(known.get(id)?.ended_at, `${id} was destroyed`).toBeDefined();
    expect(this.#surprises).toEqual([]);
  }

  #auditRuntimes(live: ReadonlyMap<string, Pick<SandboxRecord, 'worker_id'>>): void {
    const running = this.workers.flatMap(({ id, provider }) =>
      [...provider.runtimes.values()].map((runtime) => ({ id: runtime.id, on: id })),
    );
    expect(new Set(running.map(({ id }) => id)).size, 'one runs twice').toBe(running.length);
    const made = this.workers.flatMap(({ provider }) => provider.made);
    expect(new Set(made).size, 'one was made twice').toBe(made.length);
    for (const { id, on } of running) expect(live.get(id)?.worker_id, `${id} runs on ${on}`).toBe(on);
  }

  /** Faults are over. */
  calm(): void {
    this.#isFaulty = false;
    this.#awayUntil = 0;
    for (const replica of this.replicas) {
      replica.usurpsUntil = 0;
      replica.thaw();
    }
    for (const worker of this.workers) {
      worker.fate = () => 'pass';
      Object.assign(worker.cut, { to: false, from: false });
    }
  }

  /** Faults are over, everything had its time, and all lives are over. */
  async converge(): Promise<void> {
    const { w, workers } = this;
    this.calm();
    for (let minute = 0; minute < 4; minute++) await w.clock.advance(60_000);
    await this.#auditRefused();
    for (let minute = 4; minute < 10; minute++) await w.clock.advance(60_000);
    await this.#auditPrewarmed();
    await this.#control().templates.delete(TEMPLATE, api);
    for (let minute = 0; minute < 80 && !(await this.#isOver()); minute++) await w.clock.advance(60_000);
    await this.audit();
    expect(await w.store.warm.all()).toEqual([]);
    expect(await w.store.leases.list()).toEqual([]);
    expect(await w.store.tickets?.homes()).toEqual([]);
    for (const { provider, held } of workers.map((each) => ({ ...each, held: each.held() })))
      expect([[...provider.runtimes.values()], held]).toEqual([[], []]);
    await this.#history();
  }

  /** Whether nobody has anything to end any more. */
  async #isOver(): Promise<boolean> {
    const { sandboxes, warm, leases } = this.w.store;
    const left = [await sandboxes.list({ limit: 1 }), await warm.all(), await leases.list()];
    return (
      left.every(({ length }) => length === 0) && this.workers.every((worker) => worker.held().length === 0)
    );
  }

  /** Nothing is left of a spawn whose caller was refused and cannot ask again, and none is stuck. */
  async #auditRefused(): Promise<void> {
    const live = await this.w.store.sandboxes.list({ limit: 1000 });
    expect(live.filter(({ metadata }) => this.#refused.has(metadata.call ?? ''))).toEqual([]);
    expect(live.filter(({ state }) => state === 'creating')).toEqual([]);
  }

  /** All that the template asks for are ready, of its shape, at rest, and run. */
  async #auditPrewarmed(): Promise<void> {
    const template = await this.w.store.templates.get({ name: TEMPLATE });
    const rows = await this.w.store.warm.all();
    const free = CAP - (await this.w.store.sandboxes.countActive()).total;
    expect(rows, 'as many as the template asks for').toHaveLength(Math.min(template?.prewarm ?? 0, free));
    const running = this.workers.flatMap(({ provider }) =>
      [...provider.runtimes.values()].map(({ id }) => id),
    );
    for (const row of rows) {
      expect(row).toMatchObject({ state: 'ready', memory_mb: template?.memory_mb });
      expect(row).not.toHaveProperty('replica_id');
      expect(running).toContain(row.id);
    }
  }

  async #history(): Promise<void> {
    const types = new Map<string, string[]>();
    let last = 0;
    for (const { id, sandbox_id, type } of await this.w.store.events.since(0, 1_000_000)) {
      expect(id).toBeGreaterThan(last);
      last = id;
      if (sandbox_id) types.set(sandbox_id, [...(types.get(sandbox_id) ?? []), type]);
    }
    for (const row of await this.w.store.sandboxes.list({ include_ended: true, limit: 100_000 })) {
      const story = types.get(row.id) ?? [];
      const end = row.state === 'error' ? 'sandbox.error' : 'sandbox.destroyed';
      expect(story[0]).toBe('sandbox.created');
      expect(story.at(-1), `${row.id}: ${story}`).toBe(end);
      expect(story.filter((type) => type === end)).toHaveLength(1);
      expect(row).toMatchObject({ ended_at: expect.any(String), end_reason: expect.any(String) });
      expect(row).not.toHaveProperty('replica_id');
    }
  }

  #any = () => this.replicas[this.roll(REPLICAS)] as Replica;

  #control = (): ControlPlane => this.#any().control;

  #fate() {
    const { roll, w } = this;
    const isAway = w.clock.monotonic() < this.#awayUntil;
    const isFault = this.#isFaulty && roll(30) === 0;
    const kind = isAway ? 'refused' : isFault ? (STORE_FATES[roll(STORE_FATES.length)] ?? 'pass') : 'pass';
    return { kind, ms: this.#isFaulty && roll(6) === 0 ? roll(400) : 0 };
  }

  #setDatabaseClock(): void {
    this.#databaseMs = (this.roll(5) - 2) * HOUR_MS;
  }

  #setTime(time: TimeStore): TimeStore {
    const read = async () => {
      const shared = await time.read();
      return { ...shared, database_ms: shared.database_ms + this.#databaseMs };
    };
    return { ...time, read };
  }

  #goAway(ms: number): void {
    this.#awayUntil = this.w.clock.monotonic() + ms;
  }

  /** The world as workers see it: each call goes to any replica, and waits for its answer for so long. */
  #balanced(): World {
    const { clock } = this.w;
    const inTime = <T>(call: Promise<T>): Promise<T> =>
      Promise.race([call, clock.sleep(PATIENCE_MS).then(() => Promise.reject(unreached()))]);
    const workers = () => this.#control().workers;
    const control = {
      workers: {
        heartbeat: (...given: Parameters<ControlPlane['workers']['heartbeat']>) =>
          inTime(workers().heartbeat(...given)),
        renew: (...given: Parameters<ControlPlane['workers']['renew']>) => inTime(workers().renew(...given)),
      },
    };
    return { ...this.w, control: control as unknown as ControlPlane };
  }

  /** Nobody waits; a failure must be one of the typed kinds. */
  #call(promise: Promise<unknown>): void {
    promise.catch((error: { name?: string; code?: string }) => {
      if (error.name !== 'ServiceError' || error.code === 'internal') this.#surprises.push(error);
    });
  }
}

/** Sessions of ready sandboxes, over the line to their worker. */
function openSessions({ remote }: World, workers: readonly SimulatedWorker[]): void {
  const { of } = remote;
  remote.of = (to, kind) => ({
    ...(of(to, kind) as Provider),
    attach: async (runtime, signal) => {
      const worker = workers.find(({ id }) => id === to.id) as SimulatedWorker;
      if (worker.cut.to) throw unreached();
      return worker.provider.attach(runtime, signal);
    },
  });
}

const unreached = () => new ServiceError('unavailable', 'Nobody answered in time.');
