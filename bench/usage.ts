// P50 to P53 of the speed table: what measuring sandboxes takes, and how soon the questions about use are answered.
import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import Sqlite from 'better-sqlite3';
import { liveUsage } from '../src/control/usage/live.ts';
import { Sampler } from '../src/control/usage/sampler.ts';
import { UsageTotals } from '../src/control/usage/totals.ts';
import type { UsageViewDeps } from '../src/control/usage/view-deps.ts';
import { usageViews } from '../src/control/usage/views.ts';
import { realClock } from '../src/host/clock.ts';
import { findCgroupHost } from '../src/providers/local/cgroup-host.ts';
import { CgroupUsage } from '../src/providers/local/cgroup-usage.ts';
import { noAmounts, type UsageChange } from '../src/store/seam/usage.ts';
import type { SandboxRecord, Store } from '../src/store/store.ts';
import { SILENT, withStore } from './control-plane.ts';
import { withHome } from './folders.ts';
import type { Pair } from './row.ts';
import { clocked } from './stats.ts';

export const USAGE_ROWS = ['P50-1000', 'P50-10000', 'P50-turn', 'P51', 'P52', 'P53'];

const INTERVAL_MS = 10_000;
const CGROUPS = 1000;
const OWNER_HOURS = 720;
const OWNERS = 1400;
const HOUR_MS = 3_600_000;
const BITE = 250;
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
    for (const count of [1000, 10_000]) await measure(samplingPair(count, foldersOf));
    await measure(turnPair(foldersOf));
    await withSampler(10_000, foldersOf, async (sampler) => {
      await sampled(sampler, 10_000);
      await measure(topPair(sampler));
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

/** The sampler of a server over so many sandboxes. */
async function withSampler(
  count: number,
  foldersOf: FoldersOf,
  work: (sampler: Sampler) => Promise<void>,
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
  sampler.start();
  try {
    await work(sampler);
  } finally {
    await sampler.stop();
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

/** Starts with all known, and takes the processor time of one interval. */
function samplingPair(count: number, foldersOf: FoldersOf): Pair {
  return {
    id: `P50-${count}`,
    name: `measuring ${count.toLocaleString('en')} sandboxes all the time: share of one processor`,
    unit: '%',
    judged: 'figure',
    target: count === 1000 ? 1 : 5,
    pairs: 3,
    warmUps: 0,
    ours: async () => {
      let percent = 0;
      await withSampler(count, foldersOf, async (sampler) => {
        await sampled(sampler, Math.min(count, CGROUPS));
        const before = process.cpuUsage();
        await realClock().sleep(INTERVAL_MS);
        const { user, system } = process.cpuUsage(before);
        percent = ((user + system) / 1000 / INTERVAL_MS) * 100;
      });
      return percent;
    },
  };
}

function turnPair(foldersOf: FoldersOf): Pair {
  return {
    id: 'P50-turn',
    name: 'longest delay of the event loop in 99 of 100 moments while 1,000 sandboxes are measured',
    judged: 'figure',
    target: 5,
    pairs: 3,
    warmUps: 0,
    ours: async () => {
      let ms = 0;
      await withSampler(CGROUPS, foldersOf, async (sampler) => {
        await sampled(sampler, CGROUPS);
        const delay = monitorEventLoopDelay({ resolution: 1 });
        delay.enable();
        await realClock().sleep(INTERVAL_MS);
        delay.disable();
        ms = delay.percentile(99) / 1e6 - 1;
      });
      return ms;
    },
  };
}

function topPair(sampler: Sampler): Pair {
  const deps = {
    sampler,
    settings: { enforce_owner: false },
    host: { cpus: 2 },
    clock: realClock(),
    isMeasuring: true,
  } as unknown as UsageViewDeps;
  return {
    id: 'P51',
    name: 'the 50 sandboxes that use most, of 10,000',
    judged: 'figure',
    target: 5,
    pairs: 100,
    ours: () =>
      clocked(async () => {
        const { matching } = liveUsage(deps, { limit: 50 }, CALLER);
        if (matching !== 10_000) throw new Error(`${matching} sandboxes`);
      }),
  };
}

/** A ledger with a million rows by hour, and rows of sandboxes that run. */
async function withLedger(root: string, home: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  await withStore(root, home, async () => {});
  const now = Date.now();
  const from = new Date(now);
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth()) / HOUR_MS;
  fill(join(home, 'svc.db'), first, now);
  await withStore(root, home, async (store) => {
    await measure(monthPair(store));
    await measure(flushPair(store, now));
  });
}

function fill(path: string, first: number, now: number): void {
  const db = new Sqlite(path);
  const hours = db.prepare(
    `INSERT INTO usage_hours (owner_id, hour, provider, template, sandboxes, sandbox_ms, cpu_us) VALUES (?, ?, 'userspace', '', 1, 3600000, 1000)`,
  );
  const sandboxes = db.prepare(
    `INSERT INTO usage_sandboxes (sandbox_id, owner_id, provider, template, vcpus, memory_mb, started_at, metered_to) VALUES (?, 'owner-1', 'userspace', '', 1, 512, ?, ?)`,
  );
  const stamp = new Date(now).toISOString();
  db.transaction(() => {
    for (let owner = 0; owner < OWNERS; owner += 1)
      for (let hour = 0; hour < OWNER_HOURS; hour += 1) hours.run(`owner-${owner}`, first + hour);
    for (let n = 0; n < CGROUPS; n += 1) sandboxes.run(`sb-${String(n).padStart(12, '0')}`, stamp, stamp);
  })();
  db.close();
}

function monthPair(store: Store): Pair {
  const views = usageViews({
    usage: store.usage,
    sandboxes: store.sandboxes,
    settings: { enforce_owner: false },
    clock: realClock(),
    host: { cpus: 2 },
    isMeasuring: true,
  } as unknown as UsageViewDeps);
  return {
    id: 'P52',
    name: `month of an owner by day, of ${(OWNERS * OWNER_HOURS).toLocaleString('en')} rows by hour`,
    judged: 'figure',
    target: 20,
    pairs: 100,
    ours: () =>
      clocked(async () => {
        const { rows } = await views.owner('owner-700', { step: 'day' }, CALLER);
        if (rows.length === 0) throw new Error('the owner used nothing');
      }),
  };
}

function flushPair(store: Store, start: number): Pair {
  let at = start;
  return {
    id: 'P53',
    name: `writing the use of ${BITE} sandboxes, as is done for all of them each minute`,
    judged: 'figure',
    target: 8,
    pairs: 100,
    ours: async () => {
      const open = await store.usage.open(BITE);
      at += 60_000;
      const changes = open.map((row): UsageChange => {
        const hour = Math.floor(at / HOUR_MS);
        const amounts = { ...noAmounts(), sandbox_ms: 60_000, cpu_us: 5000, used_mb_ms: 600_000 };
        const last = {
          counter: 'bench',
          at: new Date(at).toISOString(),
          cpu_us: at,
          rx_bytes: 0,
          tx_bytes: 0,
          oom_kills: 0,
        };
        return { ...row, metered_to: new Date(at).toISOString(), last, hours: [{ hour, amounts }] };
      });
      return clocked(async () => {
        const written = await store.usage.settle(changes);
        if (written.length !== BITE) throw new Error(`${written.length} rows were written`);
      });
    },
  };
}
