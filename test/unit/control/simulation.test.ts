// 50,400 seeded steps of everything at once: requests, deadlines, faults of the provider, deaths of runtimes, ready
// sandboxes, a pool, crashes of the server, quotas that change, spawns that wait. What is done and what must hold is in
// ../../support/simulated-run.ts.
import { describe, expect, it } from 'vitest';
import { simulated } from '../../../proof/simulated.ts';
import { SimulatedRun } from '../../../proof/simulation/run.ts';

const STEPS = 600;
/** Seeds that once broke an invariant. */
const BROKEN = [527, 913];

describe('a seeded simulation', () => {
  const seeds = Array.from(
    { length: Number(process.env.SVC_TEST_SEEDS ?? 84) },
    (_, i) => i + Number(process.env.SVC_TEST_SEED ?? 1),
  );
  it.each([...BROKEN.filter((seed) => !seeds.includes(seed)), ...seeds])(
    'seed %d keeps every invariant',
    (seed) =>
      simulated('the control plane over one provider', STEPS, async () => {
        const run = new SimulatedRun(seed);
        await run.w.control.start();
        run.faults(10);
        for (let step = 0; step < STEPS; step++) {
          await run.step();
          if (run.roll(3) === 0) await run.w.clock.advance(run.roll(300));
          await run.audit(step);
        }
        await run.converge();
        expect(run.spawned.size).toBeGreaterThan(20);
      }),
  );
});
