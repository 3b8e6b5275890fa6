// 50,400 seeded steps of everything at once: requests, deadlines, faults of the provider, deaths of runtimes,
// crashes of the server, quotas that change, spawns that wait. The invariants of quality.md are looked at in the store and in the provider, never through us.
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import { api, forever, owned, type World, world } from '../../support/control.ts';
import { seededRandom } from '../../support/fakes.ts';
import type { Fault, Operation } from '../../support/scripted-provider.ts';

const CAP = 12;
/** Of one owner, unless its quota says less or more. */
const OWNER_CAP = 4;
const MOST_QUOTA = 6;
const OWNERS = ['ann', 'bob', 'cid'];
const WAIT_MS = 15_000;
const STEPS = 600;
const FAULTS: (Fault | undefined)[] = ['fail', 'lost', 'hang', 'late'];

function dice(seed: number) {
  const random = seededRandom(seed);
  return (sides: number) => random.bytes(4).readUInt32LE() % sides;
}

class Run {
  readonly w: World;
  readonly roll: (sides: number) => number;
  /** Spawns that have not been answered, with the time by which a wait in the queue is over. */
  readonly open = new Set<object>();
  /** Ids whose spawn, and whose destroy, was answered with success. */
  readonly spawned = new Set<string>();
  readonly destroyed = new Set<string>();
  readonly surprises: unknown[] = [];

  constructor(seed: number) {
    this.roll = dice(seed);
    // Every third run without a queue.
    const overflow = seed % 3 === 0 ? 'reject' : 'queue';
    this.w = world({
      defaults: {
        ...{ max_sandboxes: CAP, max_sandboxes_per_owner: OWNER_CAP, max_spawn_queue: 20 },
        ...{ spawn_overflow: overflow, spawn_queue_timeout: `${WAIT_MS / 1000}s` },
      },
      database: { ended_retention: '8760h' },
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
    const deeds: (() => unknown)[] = [
      ...Array(5).fill(() => this.spawn()),
      ...Array(3).fill(() =>
        this.call(w.control.sandboxes.destroy(one, api).then(() => this.destroyed.add(one))),
      ),
      () => this.call(w.control.sandboxes.extend(one, `${1 + roll(90)}s`, api)),
      () => this.call(w.control.sandboxes.prune(api)),
      () => this.call(w.control.exec.run(one, { command: 'x' }, api, forever)),
      () => this.call(w.control.files.write(one, '/x', Buffer.from('x'), {}, api, forever)),
      () => w.fake.crash(one),
      () => w.provider.release(),
      () => w.fake.plant(`sb-stray${roll(1000)}`),
      ...Array(4).fill(() => w.clock.advance(roll(20_000))),
      () => this.quota(),
      () => (roll(6) === 0 ? this.restart() : undefined),
    ];
    return deeds[roll(deeds.length)]?.();
  }

  spawn(): void {
    const { w, roll } = this;
    const key = roll(3) === 0 ? { idempotencyKey: `k${roll(20)}` } : {};
    const owner = OWNERS[roll(OWNERS.length + 1)];
    const client = new AbortController();
    const request = { ttl: `${1 + roll(120)}s` };
    const caller = owner === undefined ? api : owned(owner);
    const spawned = w.control.sandboxes.spawn(request, caller, key, client.signal);
    const open = { client };
    this.open.add(open);
    spawned.finally(() => this.open.delete(open)).catch(() => undefined);
    this.call(spawned.then(({ id }) => this.spawned.add(id)));
    if (roll(8) === 0) w.clock.after(roll(5000), () => client.abort(gone()));
  }

  quota(): void {
    const { quotas } = this.w.control;
    const owner = OWNERS[this.roll(OWNERS.length)] ?? '';
    const max_sandboxes = this.roll(MOST_QUOTA + 1);
    this.call(this.roll(3) === 0 ? quotas.delete(owner, api) : quotas.put(owner, { max_sandboxes }, api));
  }

  /** Nobody waits; a failure must be one of the typed kinds. */
  call(promise: Promise<unknown>): void {
    promise.catch((error: { name?: string; code?: string }) => {
      if (error.name !== 'ServiceError' || error.code === 'internal') this.surprises.push(error);
    });
  }

  async restart(): Promise<void> {
    // Whoever waited for the old server hears nothing more from it.
    this.open.clear();
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
    expect(new Set(w.fake.made).size, 'a sandbox was made twice').toBe(w.fake.made.length);
    expect(this.surprises).toEqual([]);
    if (step % 10 !== 0) return;
    const rows = await w.store.sandboxes.list({ include_ended: true, limit: 100_000 });
    const known = new Map(rows.map((row) => [row.id, row]));
    for (const id of this.spawned) expect(known.has(id), `${id} is lost`).toBe(true);
    for (const id of this.destroyed)
      if (known.has(id))
        expect(known.get(id)).toMatchObject({ state: expect.stringMatching(/destroyed|error/) });
  }

  /** What must hold once faults have ended and everything had its time. */
  async converge(): Promise<void> {
    const { w } = this;
    this.faults(0);
    w.provider.release();
    await w.clock.advance(200_000);
    w.provider.release();
    await w.clock.advance(200_000);
    expect(this.open.size, 'a spawn was never answered').toBe(0);
    expect(await w.control.sandboxes.admission({}, api)).toMatchObject({ allowed: true, queue_depth: 0 });
    const live = (await w.store.sandboxes.list({ limit: 100_000 })).map(({ id }) => id).sort();
    expect([...w.fake.runtimes.values()].map(({ id }) => id).sort()).toEqual(live);
    expect(live, 'everything has expired').toEqual([]);
    expect((await w.store.sandboxes.countActive()).total).toBe(0);
    await this.history();
  }

  async history(): Promise<void> {
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

describe('a seeded simulation', () => {
  const seeds = Array.from(
    { length: Number(process.env.SVC_TEST_SEEDS ?? 84) },
    (_, i) => i + Number(process.env.SVC_TEST_SEED ?? 1),
  );
  it.each(seeds)('seed %d keeps every invariant', async (seed) => {
    const run = new Run(seed);
    await run.w.control.start();
    run.faults(10);
    for (let step = 0; step < STEPS; step++) {
      await run.step();
      if (run.roll(3) === 0) await run.w.clock.advance(run.roll(300));
      await run.audit(step);
    }
    await run.converge();
    expect(run.spawned.size).toBeGreaterThan(20);
  });
});
