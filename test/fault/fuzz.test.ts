// A short part of `npm run fuzz`: some seeded cases of each target against real servers, and none of them misbehaves.
import { expect } from 'vitest';
import { fuzz } from '../../proof/fuzz/fuzz.ts';
import { TARGETS, type TargetName } from '../../proof/fuzz/targets.ts';
import { itWith, type Need } from '../support/requires.ts';

const RUNS: Record<TargetName, number> = {
  ...{ routes: 120, wire: 100, frames: 60, readers: 60, formats: 300 },
  ...{ agent: 2, parser: 2, names: 2, config: 160, guest: 400, sessions: 80 },
};
const NEEDS: Partial<Record<TargetName, Need[]>> = {
  ...{ agent: ['cc'], parser: ['cc'], names: ['cc'], config: [], guest: [], formats: [] },
};

for (const name of Object.keys(TARGETS) as TargetName[])
  itWith(
    NEEDS[name] ?? ['unshare'],
    `${RUNS[name]} seeded cases of ${name} are taken as they should be`,
    async () => {
      const [report] = await fuzz({ only: [name], seed: 1, runs: RUNS[name] });
      expect(report).toMatchObject({ target: name, cases: RUNS[name], faults: [] });
    },
  );
