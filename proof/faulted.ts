// Tells the proof of each test of a file as a trial: one that fails is a fault that did not settle.
import { afterEach } from 'vitest';
import { tally } from './tally.ts';

const NOTHING_FOUND = { rows_lost: 0, runtimes_leaked: 0, double_spawns: 0, over_admissions: 0 };

/** For the tests of the `describe` or file that calls it. */
export function countFaults(name: string, kind: 'environment' | 'points' = 'environment'): void {
  afterEach(({ task }) => {
    const hasFailed = task.result?.state === 'fail';
    const counts = { trials: 1, survived: hasFailed ? 0 : 1, unsettled: hasFailed ? 1 : 0 };
    tally(kind, name, { ...NOTHING_FOUND, ...counts });
  });
}
