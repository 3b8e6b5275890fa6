// Tells the proof of faults as trials, each test of a file or each of many within one: what fails is a fault that did not settle.
import { afterEach } from 'vitest';
import { tally } from './tally.ts';

type Kind = 'environment' | 'points';

const NOTHING_FOUND = { rows_lost: 0, runtimes_leaked: 0, double_spawns: 0, over_admissions: 0 };

/** For the tests of the `describe` or file that calls it. */
export function countFaults(name: string, kind: Kind = 'environment'): void {
  afterEach(({ task }) => countFault(name, task.result?.state !== 'fail', kind));
}

/** One of many faults in a test. Call it before what may fail. */
export function countFault(name: string, hasSettled: boolean, kind: Kind = 'environment'): void {
  const counts = { trials: 1, survived: hasSettled ? 1 : 0, unsettled: hasSettled ? 0 : 1 };
  tally(kind, name, { ...NOTHING_FOUND, ...counts });
}
