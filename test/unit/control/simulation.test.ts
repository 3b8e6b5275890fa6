// 50,400 seeded steps of everything at once: requests, deadlines, faults of the provider, deaths of runtimes,
// crashes of the server. The invariants of quality.md are looked at in the store and in the provider, never through us.
import { describe, expect, it } from 'vitest';
import { api, forever, type World, world } from '../../support/control.ts';
import { seededRandom } from '../../support/fakes.ts';
import type { Fault, Operation } from '../../support/scripted-provider.ts';

const CAP = 12;
const STEPS = 600;
const FAULTS: (Fault | undefined)[] = ['fail', 'lost', 'hang', 'late'];

function dice(seed: number) {
  const random = seededRandom(seed);
  return (sides: number) => random.bytes(4).readUInt32LE() % sides;
}

class Run {
  readonly w: World = world({ defaults: { max_sandboxes: CAP }, database: { ended_retention: '8760h' } });
  readonly roll: (sides: number) => number;
  /** Ids whose spawn, and whose destroy, was answered with success. */
  readonly spawned = new Set<string>();
  readonly destroyed = new Set<string>();
  readonly surprises: unknown[] = [];

  constructor(seed: number) {
    this.roll = dice(seed);
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
      () => (roll(6) === 0 ? this.restart() : undefined),
    ];
    return deeds[roll(deeds.length)]?.();
  }

  spawn(): void {
    const key = this.roll(3) === 0 ? { idempotencyKey: `k${this.roll(20)}` } : {};
    const spawned = this.w.control.sandboxes.spawn({ ttl: `${1 + this.roll(120)}s` }, api, key, forever);
    this.call(spawned.then(({ id }) => this.spawned.add(id)));
  }

  /** Nobody waits; a failure must be one of the typed kinds. */
  call(promise: Promise<unknown>): void {
    promise.catch((error: { name?: string; code?: string }) => {
      if (error.name !== 'ServiceError' || error.code === 'internal') this.surprises.push(error);
    });
  }

  async restart(): Promise<void> {
    const restarted = this.w.restart();
    await this.w.clock.advance(6000);
    await restarted;
  }

  /** What must hold at every instant; the rows are read every tenth time. */
  async audit(step: number): Promise<void> {
    const { w } = this;
    const { total } = await w.store.sandboxes.countActive();
    expect(total).toBeLessThanOrEqual(CAP);
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
