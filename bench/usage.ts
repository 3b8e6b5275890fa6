// P50 to P53 of the speed table: what measuring sandboxes takes, how soon the questions about use are answered, and what the ledger
// takes of memory and disk.
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { liveUsage } from '../src/control/usage/live.ts';
import { Sampler } from '../src/control/usage/sampler.ts';
import { UsageTotals } from '../src/control/usage/totals.ts';
import type { UsageViewDeps } from '../src/control/usage/view-deps.ts';
import { realClock } from '../src/host/clock.ts';
import { findCgroupHost } from '../src/providers/local/cgroup-host.ts';
import { CgroupUsage } from '../src/providers/local/cgroup-usage.ts';
import type { SandboxRecord } from '../src/store/store.ts';
import { SILENT } from './control-plane.ts';
import { withHome } from './folders.ts';
import type { Pair } from './row.ts';
import { clocked } from './stats.ts';
import { withLedger } from './usage-ledger.ts';

export const USAGE_ROWS = ['P50-1000', 'P50-10000', 'P50-turn', 'P51', 'P52', 'P53', 'P53-csv', 'P53-size'];

const INTERVAL_MS = 10_000;
const CGROUPS = 1000;
const HOUR_MS = 3_600_000;
const CONFIG = {
  enabled: true,
  interval: '10s',
  history_mb: 32,
  retention_hours: '960h',
  retention_days: '8760h',
  exposed_owners: [],
};
const CALLER = { role: 'admin', actor: 'bench', credential: 'bench', request_id: 'bench' } as const;

export async function withUsageRows(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  await withCgroups(async (foldersOf) => {
    await withSampler(CGROUPS, foldersOf, async (ready) => {
      await measure(samplingPair(CGROUPS, ready));
      await measure(turnPair(ready));
    });
    await withSampler(10 * CGROUPS, foldersOf, async (ready) => {
      await measure(samplingPair(10 * CGROUPS, ready));
      await measure(topPair(ready));
    });
  });
  await withHome((home) => withLedger(root, home, measure));
}

type FoldersOf = (name: string) => Promise<readonly string[]>;

/** Cgroups without processes: their files are read as those of others are. */
async function withCgroups(work: (foldersOf: FoldersOf) => Promise<void>): Promise<void> {
  const { folders } = await findCgroupHost(`svc-bench-trial-${process.pid}`);
  const bases = [...new Set(folders.values())].map((base) => join(base, `svc-bench-${process.pid}`));
  if (bases.length === 0) throw new Error('this host permits no cgroups');
  const all = bases.flatMap((base) => [
    base,
    ...Array.from({ length: CGROUPS }, (_, n) => join(base, `${n}`)),
  ]);
  try {
    for (const folder of all) mkdirSync(folder, { recursive: true });
    await work(async (name) => bases.map((base) => join(base, `${Number(name) % CGROUPS}`)));
  } finally {
    for (const folder of all.reverse()) rmdirSync(folder);
  }
}

const rowOf = (n: number): SandboxRecord =>
  ({
    id: String(n),
    epoch: 1,
    state: 'running',
    provider: 'userspace',
    worker_id: 'local',
    owner_id: `owner-${n % 20}`,
    memory_mb: 512,
    vcpus: 1,
    created_at: new Date(n).toISOString(),
    expires_at: new Date(n + HOUR_MS).toISOString(),
  }) as SandboxRecord;

/** The sampler of a server over so many sandboxes; it starts when `ready` is called first, which resolves when there are rates. */
async function withSampler(
  count: number,
  foldersOf: FoldersOf,
  work: (ready: () => Promise<Sampler>) => Promise<void>,
): Promise<void> {
  const clock = realClock();
  const usage = new CgroupUsage('bench', clock);
  const rows = Array.from({ length: count }, (_, n) => rowOf(n));
  const sampler = new Sampler({
    sandboxes: {
      get: async (id) => rows[Number(id)],
      list: async ({ limit, after }) => {
        const from = after === undefined ? 0 : Number(after.id) + 1;
        return rows.slice(from, from + limit);
      },
    },
    runtimes: {
      usage: (some, signal) =>
        usage.readAll(
          some.map(({ id }) => id),
          foldersOf,
          signal,
        ),
    },
    publisher: { note: () => {} },
    totals: new UsageTotals(CONFIG),
    config: CONFIG,
    clock,
    logger: SILENT,
  });
  let started: Promise<Sampler> | undefined;
  const start = async () => {
    sampler.start();
    await sampled(sampler, count);
    return sampler;
  };
  try {
    await work(() => {
      started ??= start();
      return started;
    });
  } finally {
    if (started) await sampler.stop();
    usage.close();
  }
}

/** Resolves when each has been measured twice, so that there are rates. */
async function sampled(sampler: Sampler, count: number): Promise<void> {
  const clock = realClock();
  const isDone = () =>
    [...sampler.all().values()].filter(({ rates }) => rates.cpu_percent !== undefined).length >= count;
  while (!isDone()) await clock.sleep(500);
}

/** The processor time of one interval, when all are known. */
function samplingPair(count: number, ready: () => Promise<Sampler>): Pair {
  return {
    id: `P50-${count}`,
    name: `measuring ${count.toLocaleString('en')} sandboxes all the time: share of one processor`,
    unit: '%',
    judged: 'figure',
    target: count === 1000 ? 1 : 5,
    pairs: 3,
    warmUps: 0,
    ours: async () => {
      await ready();
      const before = process.cpuUsage();
      await realClock().sleep(INTERVAL_MS);
      const { user, system } = process.cpuUsage(before);
      return ((user + system) / 1000 / INTERVAL_MS) * 100;
    },
  };
}

function turnPair(ready: () => Promise<Sampler>): Pair {
  return {
    id: 'P50-turn',
    name: 'longest delay of the event loop in 99 of 100 moments while 1,000 sandboxes are measured',
    judged: 'figure',
    target: 5,
    pairs: 3,
    warmUps: 0,
    ours: async () => {
      await ready();
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await realClock().sleep(INTERVAL_MS);
      delay.disable();
      return delay.percentile(99) / 1e6 - 1;
    },
  };
}

function topPair(ready: () => Promise<Sampler>): Pair {
  return {
    id: 'P51',
    name: 'the 50 sandboxes that use most, of 10,000',
    judged: 'figure',
    target: 5,
    pairs: 100,
    ours: async () => {
      const deps = {
        sampler: await ready(),
        settings: { enforce_owner: false },
        host: { cpus: 2 },
        clock: realClock(),
        isMeasuring: true,
      } as unknown as UsageViewDeps;
      return clocked(async () => {
        const { matching } = liveUsage(deps, { limit: 50 }, CALLER);
        if (matching !== 10_000) throw new Error(`${matching} sandboxes`);
      });
    },
  };
}
