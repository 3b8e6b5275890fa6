// Seeded runs of a control plane and three workers over lines that are cut, lose answers and deliver late, with kills on both
// sides, or wall clocks that are set an hour forward or back. After each step: no sandbox runs twice (I3), none that has
// ended runs (I1), and leases are those of live rows (I5).
import { expect, it } from 'vitest';
import { simulated } from '../../../../proof/simulated.ts';
import {
  type Fate,
  type SimulatedWorker,
  simulatedFleet,
  WORKER_TOKENS,
} from '../../../../proof/simulation/fleet.ts';
import { seededRandom } from '../../../support/fakes/ports.ts';
import { api, forever, type World, world } from '../../../support/servers/control.ts';

const STEPS = 250;
const FATES: Fate[] = ['lost', 'late'];

class FleetRun {
  readonly w: World = world({
    auth: { worker_tokens: WORKER_TOKENS },
    database: { ended_retention: '8760h' },
    defaults: { max_sandboxes: 40 },
  });
  readonly workers: SimulatedWorker[] = simulatedFleet(this.w);
  readonly spawned: string[] = [];
  readonly #surprises: unknown[] = [];
  /** Every third run sets clocks and restarts nobody: what is left of a lease at a start is what the wall clock says. */
  readonly #isSteady: boolean;
  #skewMs = 0;
  readonly #random: ReturnType<typeof seededRandom>;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#isSteady = seed % 3 !== 0;
  }

  roll = (sides: number) => this.#random.bytes(4).readUInt32LE() % sides;

  async start(): Promise<void> {
    await this.w.control.start();
    await this.w.control.workers.drain('local', true);
    for (const worker of this.workers) await worker.restart();
    await this.w.clock.advance(1000);
    for (const worker of this.workers)
      worker.fate = () => (this.roll(8) === 0 ? (FATES[this.roll(FATES.length)] ?? 'pass') : 'pass');
  }

  async step(): Promise<void> {
    const { w, roll } = this;
    const one = this.spawned[roll(Math.max(1, this.spawned.length))] ?? 'sb-nobody';
    const worker = this.workers[roll(this.workers.length)] as SimulatedWorker;
    const restarts = [
      () => (roll(3) === 0 ? worker.restart() : undefined),
      () => (roll(4) === 0 ? this.#restart() : undefined),
    ];
    const steps = [
      () => Object.assign(worker, { skewMs: this.#anHour() }),
      () => this.#setClock(this.#anHour()),
    ];
    const deeds: (() => unknown)[] = [
      ...Array(5).fill(() =>
        this.#call(
          w.control.sandboxes
            .spawn({ ttl: `${20 + roll(900)}s` }, api, {}, forever)
            .then(({ id }) => this.spawned.push(id)),
        ),
      ),
      ...Array(2).fill(() => this.#call(w.control.sandboxes.destroy(one, api))),
      () => this.#call(w.control.sandboxes.extend(one, { ttl: `${1 + roll(300)}s` }, api)),
      () => this.#call(w.control.sandboxes.get(one, api)),
      () => Object.assign(worker.cut, { to: roll(2) === 0, from: roll(2) === 0 }),
      ...Array(2).fill(() => Object.assign(worker.cut, { to: false, from: false })),
      ...Array(4).fill(() => w.clock.advance(roll(30_000))),
      ...(this.#isSteady ? restarts : steps),
    ];
    await deeds[roll(deeds.length)]?.();
    await w.clock.advance(roll(500));
  }

  async audit(): Promise<void> {
    const rows = await this.w.store.sandboxes.list({ include_ended: true, limit: 100_000 });
    const live = new Map(rows.filter(({ ended_at }) => ended_at === undefined).map((row) => [row.id, row]));
    const running = this.workers.flatMap(({ id, provider }) =>
      [...provider.runtimes.values()].map((runtime) => ({ id: runtime.id, on: id })),
    );
    expect(new Set(running.map(({ id }) => id)).size, 'one runs twice').toBe(running.length);
    const made = this.workers.flatMap(({ provider }) => provider.made);
    expect(new Set(made).size, 'one was made twice').toBe(made.length);
    for (const { id, on } of running) expect(live.get(id)?.worker_id, `${id} runs on ${on}`).toBe(on);
    const lent = (await this.w.store.leases.list()).map(({ resource_id }) => resource_id);
    expect(lent.sort()).toEqual([...live.keys()].sort());
    expect(this.#surprises).toEqual([]);
  }

  /** Everything had its time, and all lives are over. */
  async converge(): Promise<void> {
    this.#setClock(0);
    for (const worker of this.workers) {
      worker.skewMs = 0;
      worker.fate = () => 'pass';
      Object.assign(worker.cut, { to: false, from: false });
    }
    for (let minute = 0; minute < 90; minute++) await this.w.clock.advance(60_000);
    await this.audit();
    expect(await this.w.store.leases.list()).toEqual([]);
    for (const { provider, held } of this.workers.map((each) => ({ ...each, held: each.held() })))
      expect([[...provider.runtimes.values()], held]).toEqual([[], []]);
  }

  #anHour = () => (this.roll(3) - 1) * 3_600_000;

  /** That of the control plane; the workers' stay as they are. */
  #setClock(skewMs: number): void {
    const by = skewMs - this.#skewMs;
    this.#skewMs = skewMs;
    this.w.clock.jump(by);
    for (const worker of this.workers) worker.skewMs -= by;
  }

  #call(promise: Promise<unknown>): void {
    promise.catch((error: { name?: string; code?: string }) => {
      if (error.name !== 'ServiceError' || error.code === 'internal') this.#surprises.push(error);
    });
  }

  async #restart(): Promise<void> {
    const restarted = this.w.restart();
    await this.w.clock.advance(6000);
    await restarted;
  }
}

const seeds = Array.from(
  { length: Number(process.env.SVC_TEST_FLEET_SEEDS ?? 12) },
  (_, i) => i + Number(process.env.SVC_TEST_SEED ?? 1),
);
it.each(seeds)('seed %d keeps every invariant of workers', (seed) =>
  simulated('the control plane and three workers', STEPS, async () => {
    const run = new FleetRun(seed);
    await run.start();
    for (let step = 0; step < STEPS; step++) {
      await run.step();
      await run.audit();
    }
    await run.converge();
    expect(run.spawned.length).toBeGreaterThan(10);
  }),
);
