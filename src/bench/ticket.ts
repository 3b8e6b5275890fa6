// P15-ticket of the speed table: what a spawn that waits holds in the heap, from the call of the control plane on: its
// request, its place in the queue, and the story that goes on when its turn comes.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Crowd, QUEUEING } from './crowd.ts';
import { withPlane } from './plane.ts';
import type { Pair } from './row.ts';
import { withHome } from './server.ts';

const WAITING = 10_000;

export const ticketPair: Pair = {
  id: 'P15-ticket',
  name: `heap of a spawn that waits among ${WAITING}`,
  target: 2,
  unit: 'KB',
  warmUps: 1,
  pairs: 5,
  ours: () =>
    withHome((home) =>
      withPlane({ home, env: QUEUEING }, async (control) => {
        const crowd = new Crowd(control);
        await crowd.wait(100);
        const before = heapBytes();
        await crowd.wait(100 + WAITING);
        return (heapBytes() - before) / WAITING / 1024;
      }),
    ),
};

/** Of this process, after everything that is over has been collected. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < 2; n += 1) collect();
  return process.memoryUsage().heapUsed;
}
