// P25 of the speed table: what watching the deadlines of 100,000 live sandboxes costs while none is due, and how long
// everything else waits while 1,000 are due at once. The reaper and the destroyer work on a real database; runtimes
// end as soon as they are destroyed.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Sqlite from 'better-sqlite3';
import { Sessions } from '../src/agent/sessions.ts';
import { Reaper } from '../src/control/maintenance/reaper.ts';
import { Publisher } from '../src/control/records/publish.ts';
import { Destroyer } from '../src/control/runtime/destroy.ts';
import { InFlightSpawns } from '../src/control/runtime/in-flight-spawns.ts';
import { eventWriter } from '../src/events/batch-writer.ts';
import { eventBus } from '../src/events/bus.ts';
import { realClock } from '../src/host/clock.ts';
import type { SandboxStore } from '../src/store/store.ts';
import { SILENT, telling, withStore } from './control-plane.ts';
import { withHome } from './folders.ts';
import type { Pair } from './row.ts';

const LIVE = 100_000;
const DUE = 1000;
const IDLE_MS = 2000;
/** A look is over within this. */
const LOOK_MS = 200;
const LOOKS_EVERY_MS = 60_000;
const HOUR_MS = 3_600_000;

export function withReaper(root: string, work: (pairs: Pair[]) => Promise<void>): Promise<void> {
  return withHome((home) =>
    withStore(root, home, async (store) => {
      const add = adder(join(home, 'svc.db'));
      add(LIVE, 24 * HOUR_MS);
      const ends = new Ends();
      const { sandboxes } = telling(store, { freed: () => ends.one() });
      const { reaper, close } = reaperOver(sandboxes, store.events.append);
      reaper.start();
      await work([
        {
          id: 'P25-idle',
          name: `the reaper's share of a processor, ${LIVE} live and none due`,
          unit: '%',
          target: 0.1,
          pairs: 13,
          warmUps: 2,
          ours: () => idleShare(reaper),
        },
        {
          id: 'P25-due',
          name: `stops of the event loop (p99), ${DUE} of ${LIVE} due at once`,
          target: 20,
          pairs: 10,
          warmUps: 2,
          ours: async () => {
            const over = ends.all(DUE);
            add(DUE, -1000);
            // Else the making of the rows would count.
            await pause(50);
            return stops(() => {
              reaper.wake();
              return over;
            });
          },
        },
      ]).finally(close);
    }),
  );
}

function reaperOver(sandboxes: SandboxStore, append: Parameters<typeof eventWriter>[0]['append']) {
  const clock = realClock();
  const bus = eventBus({ logger: SILENT });
  const writer = eventWriter({ clock, logger: SILENT, append, deliver: (events) => bus.publish(events) });
  const publisher = new Publisher({ bus, writer, clock });
  const attach = () => Promise.reject(new Error('There is nothing to attach to.'));
  const destroyer = new Destroyer({
    sandboxes,
    publisher,
    clock,
    logger: SILENT,
    replica: 'r-bench',
    replicas: { isAlive: () => false },
    spawns: new InFlightSpawns(),
    sessions: new Sessions({ clock, attach }),
    usage: { last: async () => {} },
    // As every real one, it answers in a later turn.
    runtimes: { destroy: () => pause(0), inspect: async () => 'gone' },
  });
  const roles = { holds: () => true, areShared: false };
  const reaper = new Reaper({ sandboxes, destroyer, roles, clock, logger: SILENT });
  const close = async () => {
    await reaper.stop();
    await destroyer.stop();
    await writer.close();
  };
  return { reaper, close };
}

/** Percent of one processor: for waiting, and for the look at the database once a minute. */
async function idleShare(reaper: Reaper): Promise<number> {
  const waiting = await processorMs(() => pause(IDLE_MS));
  const looking = await processorMs(() => {
    reaper.wake();
    return pause(LOOK_MS);
  });
  return 100 * (waiting / IDLE_MS + looking / LOOKS_EVERY_MS);
}

async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** All but one of a hundred last less, in ms, while `work` runs. */
async function stops(work: () => Promise<void>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await work();
  delay.disable();
  return delay.percentile(99) / 1e6;
}

/** Counts sandboxes that have ended. */
class Ends {
  #left = 0;
  #heard: () => void = () => {};

  one(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#heard();
  }

  /** Resolves when so many more have. */
  all(count: number): Promise<void> {
    this.#left = count;
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }
}

/** Adds sandboxes that run, `fromNow` ms from their end, past the store: what is measured is not their making. */
function adder(path: string): (count: number, fromNow: number) => void {
  const db = new Sqlite(path);
  const insert = db.prepare(
    `INSERT INTO sandboxes (id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id)
       VALUES (?, 1, 'running', 'userspace', 'host', 512, 1, 'default', ?, ?, '[]', '[]', 'local')`,
  );
  const stamp = (fromNow: number) => new Date(Date.now() + fromNow).toISOString();
  const add = db.transaction((count: number, fromNow: number) => {
    const [created, expires] = [stamp(-HOUR_MS), stamp(fromNow)];
    for (let n = 0; n < count; n += 1) insert.run(`sb-${randomBytes(6).toString('hex')}`, created, expires);
  });
  return (count, fromNow) => add.immediate(count, fromNow);
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
