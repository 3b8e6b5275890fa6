// P15-ticket of the speed table: the heap that the queue itself uses for each waiting spawn. With the request and its
// continuation it is about twice as much; P15-memory judges all of that together.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MemoryQueue } from '../src/control/queue/memory-queue.ts';
import { realClock } from '../src/host/clock.ts';
import type { Pair } from './row.ts';

const WAITING = 10_000;
const OWNERS = 50;
const NO_PLACE = { allowed: false, reason: 'max_sandboxes', active_sandboxes: 1, max_sandboxes: 1 } as const;
const DENIED = {
  denied: { ...NO_PLACE, active_provider_sandboxes: 1, max_provider_sandboxes: 0, maxTtlMs: 0 },
};
const HOUR_MS = 3_600_000;

export const ticketPair: Pair = {
  id: 'P15-ticket',
  name: `heap of a ticket among ${WAITING}`,
  target: 2,
  unit: 'KB',
  warmUps: 1,
  pairs: 5,
  ours: async () => {
    const settings = { overflow: 'queue', most: WAITING, timeoutMs: HOUR_MS } as const;
    const queue = new MemoryQueue({ publisher: { note: () => {} }, clock: realClock() }, settings);
    const applicants = Array.from({ length: WAITING }, (_, n) => ({
      owner_id: `owner-${n % OWNERS}`,
      actor: 'bench',
      provider: 'userspace',
      attempt: async () => DENIED,
    }));
    // Signals are the edge's: it has one for each request, waiting or not.
    const signals = applicants.map(() => new AbortController().signal);
    const before = heapBytes();
    const waits = applicants.map((applicant, n) => queue.admit(applicant, signals[n]).catch(() => {}));
    while ((await queue.stats()).depth < WAITING) await new Promise((resolve) => setImmediate(resolve));
    const each = (heapBytes() - before) / WAITING / 1024;
    queue.close();
    await Promise.all(waits);
    return each;
  },
};

/** The heap of this process after garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < 2; n += 1) collect();
  return process.memoryUsage().heapUsed;
}
