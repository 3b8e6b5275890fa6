// One seeded run of the simulation: what it does to a control plane, and what must hold of it. The invariants of
// docs/design/reliability.md are looked at in the store and in the provider, never through us.
import { expect } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import type { Fault, Operation } from '../../test/support/scripted/provider.ts';
import { api, forever, owned, roomy, type World, world } from '../../test/support/servers/control.ts';

const CAP = 12;
/** The limit of an owner without a quota of its own. */
const OWNER_CAP = 4;
const MOST_QUOTA = 6;
const OWNERS = ['ann', 'bob', 'cid', 'dan', 'eve'];
const WAIT_MS = 15_000;
const POOL = { max_vms: 2, max_users_per_vm: 2 };
const MOST_WARM = 3;
const FAULTS: (Fault | undefined)[] = ['fail', 'lost', 'hang', 'late'];

function dice(seed: number) {
  const random = seededRandom(seed);
  return (sides: number) => random.bytes(4).readUInt32LE() % sides;
}

export class SimulatedRun {
  readonly w: World;
  readonly roll: (sides: number) => number;
  /** Restarts may change between sandboxes of their own, some of them ready, and the pool; every fourth run does neither. */
  readonly #isMixed: boolean;
  /** Spawns that have not been answered. */
  readonly #open = new Set<object>();
  /** Ids whose spawn, and whose destroy, was answered with success. */
  readonly spawned = new Set<string>();
  readonly #destroyed = new Set<string>();
  readonly #surprises: unknown[] = [];

  constructor(seed: number) {
    this.roll = dice(seed);
    this.#isMixed = seed % 4 !== 0;
    // Every third run without a queue.
    const overflow = seed % 3 === 0 ? 'reject' : 'queue';
    this.w = world({
      defaults: {
        ...{ max_sandboxes: CAP, max_sandboxes_per_owner: OWNER_CAP, max_spawn_queue: 20 },
        ...{ spawn_overflow: overflow, spawn_queue_timeout: `${WAIT_MS / 1000}s` },
      },
      database: { ended_retention: '8760h' },
      pool: { ...POOL, enabled: this.#isMixed && seed % 2 === 0, image: 'host' },
    });
  }

  /** One call in `odds` goes wrong; 0: none does. */
  faults(odds: number): void {
    this.w.provider.decide = (operation: Operation) =>
      odds > 0 && operation !== 'probe' && this.roll(odds) === 0
        ? FAULTS[this.roll(FAULTS.length)]
        : undefined;
  }

  step(): Promise<unknown> | unknown {
    const { w, roll } = this;
    const one = [...this.spawned][roll(Math.max(1, this.spawned.size))] ?? 'sb-nobody';
    const mixed = [() => this.#template(), () => this.#crashAny()];
    const deeds: (() => unknown)[] = [
      ...Array(5).fill(() => this.#spawn()),
      ...Array(3).fill(() =>
        this.#call(w.control.sandboxes.destroy(one, api).then(() => this.#destroyed.add(one))),
      ),
      () => this.#call(w.control.sandboxes.extend(one, { ttl: `${1 + roll(90)}s` }, api)),
      () => this.#call(w.control.sandboxes.prune(api)),
      () => this.#call(w.control.exec.run(one, { command: 'x' }, api, forever, roomy)),
      () => this.#call(w.control.files.write(one, '/x', Buffer.from('x'), {}, api, forever)),
      () => w.fake.crash(one),
      () => w.provider.release(),
      () => w.fake.plant(`sb-stray${roll(1000)}`),
      ...Array(4).fill(() => w.clock.advance(roll(20_000))),
      () => this.#quota(),
      () => (roll(6) === 0 ? this.#restart() : undefined),
      ...(this.#isMixed ? mixed : []),
    ];
    return deeds[roll(deeds.length)]?.();
  }

  #spawn(): void {
    const { w, roll } = this;
    const key = roll(3) === 0 ? { idempotencyKey: `k${roll(20)}` } : {};
    const owner = OWNERS[roll(OWNERS.length + 1)];
    const client = new AbortController();
    const template = this.#isMixed && roll(2) === 0 ? { template: 'py' } : {};
    const request = { ttl: `${1 + roll(120)}s`, ...template };
    const caller = owner === undefined ? api : owned(owner);
    const spawning = w.control.sandboxes.spawn(request, caller, key, client.signal);
    const open = { client };
    this.#open.add(open);
    spawning.finally(() => this.#open.delete(open)).catch(() => undefined);
    this.#call(spawning.then(({ id }) => this.#given(id, 'idempotencyKey' in key)));
    if (roll(8) === 0) w.clock.after(roll(5000), () => client.abort(gone()));
  }

  #given(id: string, isRepeatable: boolean): void {
    if (this.spawned.has(id) && !isRepeatable) this.#surprises.push(`${id} was given twice`);
    this.spawned.add(id);
  }

  #quota(): void {
    const { quotas } = this.w.control;
    const owner = OWNERS[this.roll(OWNERS.length)] ?? '';
    const max_sandboxes = this.roll(MOST_QUOTA + 1);
    this.#call(this.roll(3) === 0 ? quotas.delete(owner, api) : quotas.put(owner, { max_sandboxes }, api));
  }

  /** The template appears, changes its shape or its number, or goes. */
  #template(): void {
    const { templates } = this.w.control;
    const facts = { image: 'host', prewarm: this.roll(MOST_WARM + 1), memory_mb: 64 + 64 * this.roll(2) };
    const deeds = [
      () => templates.create({ name: 'py', ...facts }, api),
      () => templates.update('py', facts, api, {}),
      () => templates.delete('py', api),
    ];
    this.#call(Promise.resolve(deeds[this.roll(deeds.length)]?.()));
  }

  /** Whatever it is: a sandbox's, a VM of the pool, a ready one; with news of it or without. */
  #crashAny(): void {
    const { fake } = this.w;
    const one = [...fake.runtimes.values()][this.roll(Math.max(1, fake.runtimes.size))];
    if (!one) return;
    fake.crash(one.id);
    if (this.roll(2) === 0) fake.tell(one);
  }

  /** Nobody waits; a failure must be one of the typed kinds. */
  #call(promise: Promise<unknown>): void {
    promise.catch((error: { name?: string; code?: string }) => {
      if (error.name !== 'ServiceError' || error.code === 'internal') this.#surprises.push(error);
    });
  }

  async #restart(): Promise<void> {
    // Whoever waited for the old server hears nothing more from it.
    this.#open.clear();
    const { pool } = this.w.config.current();
    if (this.#isMixed && this.roll(2) === 0) pool.enabled = !pool.enabled;
    const restarted = this.w.restart();
    await this.w.clock.advance(6000);
    await restarted;
  }

  /** What must hold at every instant; the rows are read every tenth time. */
  async audit(step: number): Promise<void> {
    const { w } = this;
    const { total } = await w.store.sandboxes.countActive();
    expect(total).toBeLessThanOrEqual(CAP);
    for (const owner of OWNERS)
      expect((await w.store.quotas.usage(owner)).active_sandboxes).toBeLessThanOrEqual(MOST_QUOTA);
    expect((await w.store.pool.usage()).vms).toBeLessThanOrEqual(POOL.max_vms);
    expect(new Set(w.fake.made).size, 'a sandbox was made twice').toBe(w.fake.made.length);
    expect(this.#surprises).toEqual([]);
    if (step % 10 === 0) await this.#auditRows();
  }

  async #auditRows(): Promise<void> {
    const { w } = this;
    const rows = await w.store.sandboxes.list({ include_ended: true, limit: 100_000 });
    const known = new Map(rows.map((row) => [row.id, row]));
    for (const id of this.spawned) expect(known.has(id), `${id} is lost`).toBe(true);
    for (const id of this.#destroyed)
      if (known.has(id))
        expect(known.get(id)).toMatchObject({ state: expect.stringMatching(/destroyed|error/) });
    for (const { id } of await w.store.warm.all())
      expect(known.has(id), `${id} is ready and a sandbox`).toBe(false);
    const users = new Map<string, Set<string>>();
    for (const { vm_id, owner_id = '', ended_at } of rows)
      if (vm_id !== undefined && ended_at === undefined)
        users.set(vm_id, (users.get(vm_id) ?? new Set()).add(owner_id));
    for (const [vm, owners] of users) expect(owners.size, vm).toBeLessThanOrEqual(POOL.max_users_per_vm);
    for (const { id, everTenants } of w.fake.runtimes.values())
      expect(new Set(everTenants).size, `a uid came twice in ${id}`).toBe(everTenants.length);
  }

  /** What must hold once faults have ended and everything had its time. */
  async converge(): Promise<void> {
    const { w } = this;
    this.faults(0);
    await w.control.templates.delete('py', api).catch(() => undefined);
    for (let round = 0; round < 2; round++) {
      w.provider.release();
      await w.clock.advance(200_000);
    }
    expect(this.#open.size, 'a spawn was never answered').toBe(0);
    const decision = await w.control.sandboxes.admission({}, owned('ann'));
    expect(decision).toMatchObject({ allowed: true, queue_depth: 0 });
    const live = (await w.store.sandboxes.list({ limit: 100_000 })).map(({ id }) => id).sort();
    expect([...w.fake.runtimes.values()].map(({ id }) => id).sort()).toEqual(live);
    expect(live, 'everything has expired').toEqual([]);
    expect((await w.store.sandboxes.countActive()).total).toBe(0);
    expect([await w.store.warm.all(), await w.store.pool.all()]).toEqual([[], []]);
    await this.#history();
  }

  async #history(): Promise<void> {
    const last = new Map<string, string[]>();
    for (const { sandbox_id, type } of await this.w.events())
      if (sandbox_id) last.set(sandbox_id, [...(last.get(sandbox_id) ?? []), type]);
    for (const row of await this.w.store.sandboxes.list({ include_ended: true, limit: 100_000 })) {
      const types = last.get(row.id) ?? [];
      const terminal = row.state === 'error' ? 'sandbox.error' : 'sandbox.destroyed';
      expect(types[0]).toBe('sandbox.created');
      expect(types.at(-1), `${row.id}: ${types}`).toBe(terminal);
      expect(types.filter((type) => type === terminal)).toHaveLength(1);
      expect(row).toMatchObject({ ended_at: expect.any(String), end_reason: expect.any(String) });
    }
  }
}

const gone = () => new ServiceError('unavailable', 'The client closed the connection.');
