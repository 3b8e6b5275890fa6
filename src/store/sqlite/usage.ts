// The ledger of use in the database.
import type { Database } from 'better-sqlite3';
import {
  AMOUNTS,
  addAmounts,
  noAmounts,
  type UsageAmounts,
  type UsageChange,
  type UsageFilter,
  type UsageStore,
} from '../seam/usage.ts';
import {
  fromStoredUsage,
  fromStoredUsageRow,
  type StoredChange,
  type StoredUsage,
  type StoredUsageRow,
  startingHours,
  toStoredChange,
  USAGE_COLUMNS,
} from '../usage-rows.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';

const SELECT = `SELECT ${USAGE_COLUMNS} FROM usage_sandboxes`;

export function usageStore(db: Database, relaxed: Database, work: Executor): UsageStore {
  return { ...usageQueries(db, work), ...usageWrites(relaxed, work) };
}

type Writes = Pick<UsageStore, 'settle' | 'complete' | 'purge'>;

function usageQueries(db: Database, work: Executor): Omit<UsageStore, keyof Writes> {
  const open = db.prepare<[string, number], StoredUsage>(
    `${SELECT} WHERE settled = 0 AND sandbox_id > ? ORDER BY sandbox_id LIMIT ?`,
  );
  const of = db.prepare<[string], StoredUsage>(
    `${SELECT} WHERE sandbox_id IN (SELECT value FROM json_each(?)) LIMIT 1000`,
  );
  const ofOwner = db.prepare<Record<string, unknown>, StoredUsage>(
    `${SELECT} WHERE owner_id = @owner_id AND started_at < @to AND (ended_at IS NULL OR ended_at >= @from)
       AND (@started_at IS NULL OR (started_at, sandbox_id) < (@started_at, @id))
     ORDER BY started_at DESC, sandbox_id DESC LIMIT @limit`,
  );
  const complete = db.prepare<[], string>('SELECT complete_until FROM usage_state').pluck();
  const rows = (filter: UsageFilter) =>
    db.prepare<Record<string, unknown>, StoredUsageRow>(rowsQuery(filter)).all({
      owner_id: filter.owner_id,
      from: filter.from,
      to: filter.to,
      step: filter.step,
      limit: filter.limit,
    });
  return {
    open: (limit, after = '') => work.run(() => open.all(after, limit).map(fromStoredUsage)),
    of: (ids) => work.run(() => of.all(JSON.stringify(ids)).map(fromStoredUsage)),
    rows: (filter) => work.run(() => rows(filter).map(fromStoredUsageRow)),
    sandboxes: ({ owner_id, from, to, limit, after }) =>
      work.run(() =>
        ofOwner
          .all({ owner_id, from, to, limit, started_at: after?.started_at ?? null, id: after?.id ?? null })
          .map(fromStoredUsage),
      ),
    completeUntil: () => work.run(() => complete.get()),
  };
}

/** The query has 16 forms at most, which the filter's own words choose. */
function rowsQuery({ owner_id, step, by }: UsageFilter): string {
  const fields = (['owner_id', 'provider', 'template'] as const).map((name) =>
    by.includes(name) ? name : `'' AS ${name}`,
  );
  // Numbers are bound as REAL, and a division of those has a fraction.
  const size = 'CAST(@step AS INTEGER)';
  const hour = step === 0 ? 'min(hour)' : `(hour / ${size}) * ${size}`;
  const group = [...(step === 0 ? [] : [`hour / ${size}`]), ...by].join(', ');
  const sums = ['sandboxes', ...AMOUNTS].map((name) => `sum(${name}) AS ${name}`);
  return `SELECT ${fields.join(', ')}, ${hour} AS hour, ${sums.join(', ')} FROM usage_hours
    WHERE hour >= @from AND hour < @to ${owner_id === undefined ? '' : 'AND owner_id = @owner_id'}
    ${group === '' ? 'HAVING count(*) > 0' : `GROUP BY ${group}`}
    ORDER BY 4, 1, 2, 3 LIMIT @limit`;
}

function usageWrites(db: Database, work: Executor): Writes {
  const settled = settling(db);
  const settle = db.transaction((changes: readonly UsageChange[]) => settled(changes));
  const complete = db.prepare<[string]>(
    `INSERT INTO usage_state (one, complete_until) VALUES (1, ?)
       ON CONFLICT (one) DO UPDATE SET complete_until = max(complete_until, excluded.complete_until)`,
  );
  const sweeps = purging(db);
  return {
    settle: (changes) => work.settle(() => settle.immediate(changes)),
    complete: (until) => work.settle(() => void complete.run(until)),
    purge: (before) => work.settle(() => sweeps(before)),
  };
}

type Place = Pick<StoredUsage, 'owner_id' | 'provider' | 'template'>;

function settling(db: Database): (changes: readonly UsageChange[]) => string[] {
  const sums = AMOUNTS.map((name) => `${name} = ${name} + @${name}`).join(', ');
  const update = db.prepare<StoredChange, Place>(
    `UPDATE usage_sandboxes SET version = version + 1, metered_to = @metered_to, settled = @settled, counter = @counter,
       sampled_at = @sampled_at, last_cpu_us = @last_cpu_us, last_rx_bytes = @last_rx_bytes,
       last_tx_bytes = @last_tx_bytes, last_oom_kills = @last_oom_kills, peak_memory_bytes = @peak_memory_bytes,
       oom_kills = @oom_kills, estimated = @estimated, ${sums}
     WHERE sandbox_id = @sandbox_id AND version = @version
       AND (@settled = 0 OR (ended_at IS NOT NULL AND ended_at <= @metered_to))
     RETURNING owner_id, provider, template`,
  );
  const add = db.prepare<UsageAmounts & Omit<StoredUsageRow, keyof UsageAmounts>>(
    `INSERT INTO usage_hours (owner_id, hour, provider, template, sandboxes, ${AMOUNTS.join(', ')})
       VALUES (@owner_id, @hour, @provider, @template, @sandboxes, ${AMOUNTS.map((name) => `@${name}`).join(', ')})
     ON CONFLICT (owner_id, hour, provider, template) DO UPDATE SET sandboxes = sandboxes + excluded.sandboxes,
       ${AMOUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  );
  return (changes) => {
    // Sandboxes of one owner share rows of hours: each row is written once.
    const hours = new Map<string, StoredUsageRow>();
    const written = changes.filter((change) => {
      const place = update.get(toStoredChange(change));
      for (const { hour, amounts, begins } of place ? startingHours(change) : []) {
        const key = JSON.stringify([place, hour]);
        const row = hours.get(key) ?? { ...(place as Place), hour, sandboxes: 0, ...noAmounts() };
        row.sandboxes += begins;
        hours.set(key, addAmounts(row, amounts) as StoredUsageRow);
      }
      return place !== undefined;
    });
    for (const row of hours.values()) add.run(row);
    return written.map(({ sandbox_id }) => sandbox_id);
  };
}

function purging(db: Database): (before: Parameters<UsageStore['purge']>[0]) => number {
  const names = ['sandboxes', ...AMOUNTS];
  const old = db.prepare<[number, number], StoredUsageRow>(
    `SELECT owner_id, hour, provider, template, ${names.join(', ')} FROM usage_hours
       WHERE hour < ? AND hour % 24 <> 0 ORDER BY hour LIMIT ?`,
  );
  const remove = db.prepare<StoredUsageRow>(
    'DELETE FROM usage_hours WHERE owner_id = @owner_id AND hour = @hour AND provider = @provider AND template = @template',
  );
  const join = db.prepare<StoredUsageRow>(
    `INSERT INTO usage_hours (owner_id, hour, provider, template, ${names.join(', ')})
       VALUES (@owner_id, @hour - @hour % 24, @provider, @template, ${names.map((name) => `@${name}`).join(', ')})
     ON CONFLICT (owner_id, hour, provider, template) DO UPDATE SET ${names.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
  );
  const days = db.prepare<[number, number]>(
    `DELETE FROM usage_hours WHERE (owner_id, hour, provider, template) IN
       (SELECT owner_id, hour, provider, template FROM usage_hours WHERE hour < ? LIMIT ?)`,
  );
  const sandboxes = db.prepare<[string, number]>(
    `DELETE FROM usage_sandboxes WHERE sandbox_id IN
       (SELECT sandbox_id FROM usage_sandboxes WHERE settled = 1 AND ended_at < ? LIMIT ?)`,
  );
  return db.transaction((before: Parameters<UsageStore['purge']>[0]) => {
    let removed = days.run(before.days, SWEEP_ROWS).changes;
    if (removed < SWEEP_ROWS) removed += sandboxes.run(before.sandboxes, SWEEP_ROWS - removed).changes;
    const hours = removed < SWEEP_ROWS ? old.all(before.hours, SWEEP_ROWS - removed) : [];
    for (const row of hours) {
      join.run(row);
      remove.run(row);
    }
    return removed + hours.length;
  });
}
