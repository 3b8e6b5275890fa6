// Tallies a seeded run, whether it kept every invariant or not.
import { tally } from './tally.ts';

/** Runs `run` of `steps` steps, which throws where an invariant is broken. */
export async function simulated(name: string, steps: number, run: () => Promise<void>): Promise<void> {
  let violations = 1;
  try {
    await run();
    violations = 0;
  } finally {
    tally('simulation', name, { trials: 1, violations, steps });
  }
}
