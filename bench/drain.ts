// P16 of the speed table: spawns out of a queue in which 10,000 wait, against the same spawns and ends, taken one by one from
// an array before a plane that has room: what the queue adds to the database's work must not grow with its length.

import { withPlane } from './control-plane.ts';
import { withHome } from './folders.ts';
import { Crowd, FreeLine, QUEUEING } from './queued-spawns.ts';
import type { Pair } from './row.ts';

const WAITING = 10_000;
const DRAINED = 50;

export function withDrain(root: string, work: (pair: Pair) => Promise<void>): Promise<void> {
  return withHome((home) =>
    withPlane({ root, home, env: QUEUEING }, (control) =>
      withHome((bareHome) =>
        withPlane({ root, home: bareHome, env: QUEUEING }, async (bare) => {
          const [crowd, free] = [new Crowd(control), new FreeLine(bare)];
          await crowd.wait(WAITING);
          await work({
            id: 'P16',
            name: `${DRAINED} spawns out of ${WAITING} that wait`,
            target: 1.5,
            pairs: 40,
            ours: () => clocked(() => crowd.replace()),
            baseline: () => clocked(() => free.replace()),
          });
        }),
      ),
    ),
  );
}

async function clocked(replace: () => Promise<void>): Promise<number> {
  const began = performance.now();
  for (let n = 0; n < DRAINED; n += 1) await replace();
  return performance.now() - began;
}
