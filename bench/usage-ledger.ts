// P53 of the speed table and what belongs to it: what the ledger takes to write, to read, of memory and of disk; and P52.
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import Sqlite from 'better-sqlite3';
import type { UsageViewDeps } from '../src/control/usage/view-deps.ts';
import { usageViews } from '../src/control/usage/views.ts';
import { realClock } from '../src/host/clock.ts';
import { noAmounts, type UsageChange } from '../src/store/seam/usage.ts';
import type { Store } from '../src/store/store.ts';
import { withStore } from './control-plane.ts';
import type { Pair } from './row.ts';
import { clocked } from './stats.ts';

const HOUR_MS = 3_600_000;
const OPEN_SANDBOXES = 1000;
const CALLER = { role: 'admin', actor: 'bench', credential: 'bench', request_id: 'bench' } as const;
const OWNER_HOURS = 720;
const OWNERS = 1400;
/** Has rows of the year before, too. */
const OLD_OWNER = 'owner-of-a-year';
const YEAR_HOURS = 8760;
const SIZED_OWNERS = 100;
const BITE = 250;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** A ledger with a million rows by hour, and rows of sandboxes that run. */
export async function withLedger(
  root: string,
  home: string,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  await withStore(root, home, async () => {});
  const now = Date.now();
  const from = new Date(now);
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth()) / HOUR_MS;
  fill(join(home, 'svc.db'), first, now);
  await withStore(root, home, async (store) => {
    await measure(monthPair(store));
    await measure(flushPair(store, now));
    await measure(csvPair(store, first));
  });
  await measure(sizePair(home, first));
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
    for (let hour = 1; hour <= YEAR_HOURS; hour += 1) hours.run(OLD_OWNER, first - hour);
    for (let owner = 0; owner < OWNERS; owner += 1)
      for (let hour = 0; hour < OWNER_HOURS; hour += 1) hours.run(`owner-${owner}`, first + hour);
    for (let n = 0; n < OPEN_SANDBOXES; n += 1)
      sandboxes.run(`sb-${String(n).padStart(12, '0')}`, stamp, stamp);
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

/** Live memory right after a collection, in MB. */
function liveMb(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
}

/** The most memory that is held between two parts of the answer. */
function csvPair(store: Store, first: number): Pair {
  const views = usageViews({
    usage: store.usage,
    settings: { enforce_owner: false },
    clock: realClock(),
  } as unknown as UsageViewDeps);
  const from = new Date((first - YEAR_HOURS) * HOUR_MS).toISOString();
  const to = new Date(first * HOUR_MS).toISOString();
  return {
    id: 'P53-csv',
    name: `memory while ${YEAR_HOURS.toLocaleString('en')} rows, a year of an owner by hour, are sent as CSV`,
    unit: 'MB',
    judged: 'figure',
    target: 10,
    pairs: 5,
    ours: async () => {
      const before = liveMb();
      let [most, count] = [0, 0];
      for await (const rows of views.ownerRows(OLD_OWNER, { from, to, step: 'hour' }, CALLER)) {
        most = Math.max(most, liveMb() - before);
        count += rows.length;
      }
      if (count !== YEAR_HOURS) throw new Error(`${count} rows`);
      return most;
    },
  };
}

/** Rows with amounts as a sandbox that works has them. */
function sizePair(home: string, first: number): Pair {
  return {
    id: 'P53-size',
    name: `size of the ledger of a month of ${SIZED_OWNERS} owners that use something in each hour`,
    unit: 'MB',
    judged: 'figure',
    target: 10,
    pairs: 1,
    warmUps: 0,
    ours: async () => {
      const db = new Sqlite(join(home, 'svc.db'));
      const bytes = () => {
        db.exec('VACUUM');
        return (
          Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }))
        );
      };
      try {
        db.exec('DELETE FROM usage_hours');
        const before = bytes();
        const insert = db.prepare(
          `INSERT INTO usage_hours (owner_id, hour, provider, template, sandboxes, sandbox_ms, vcpu_ms, memory_mb_ms, cpu_us, used_mb_ms,
             rx_bytes, tx_bytes, execs, exec_ms)
           VALUES (?, ?, 'userspace', '', 12, 43200000, 43200000, 22118400000, 3600000123, 4300000123, 81788928, 2621440, 411, 1812345)`,
        );
        db.transaction(() => {
          for (let hour = 0; hour < OWNER_HOURS; hour += 1)
            for (let owner = 0; owner < SIZED_OWNERS; owner += 1) insert.run(`owner-${owner}`, first + hour);
        })();
        return (bytes() - before) / 1e6;
      } finally {
        db.close();
      }
    },
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
