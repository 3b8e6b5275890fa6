// The queries that run often walk an index in order: no scan of the table, no sorting of everything that lives.
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { eventIds } from '../../../src/store/sqlite/event-ids.ts';
import type { Executor } from '../../../src/store/sqlite/executor.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { RowCache } from '../../../src/store/sqlite/row-cache.ts';
import { sandboxQueries } from '../../../src/store/sqlite/sandbox-queries.ts';
import { sandboxWrites } from '../../../src/store/sqlite/sandboxes.ts';
import type { SandboxFilter, SandboxStore } from '../../../src/store/store.ts';
import { stamp } from '../../support/records.ts';

const direct = async <T>(operation: () => T) => operation();
const work: Executor = {
  run: direct,
  change: direct,
  grow: direct,
  settle: direct,
  end: direct,
  probe: direct,
};

/** What SQLite says it will do for the statements that `call` runs. */
async function plans(call: (store: SandboxStore) => Promise<unknown>): Promise<string[]> {
  const ran: string[] = [];
  const db = new Sqlite(':memory:', { verbose: (sql) => ran.push(String(sql)) });
  onTestFinished(() => void db.close());
  migrate(db);
  const table = { db, work, cache: new RowCache() };
  const store = { ...sandboxWrites(table, eventIds(db)), ...sandboxQueries(table) };
  ran.length = 0;
  await call(store);
  return ran
    .splice(0)
    .flatMap((sql) =>
      (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail),
    );
}

const after = { created_at: stamp(), id: 'sb-x' };
const lists: Partial<SandboxFilter>[] = [
  {},
  { after },
  { include_ended: true },
  { include_ended: true, after },
  { state: 'running' },
  { state: 'destroyed', after },
  { owner_id: 'alice' },
  { owner_id: 'alice', state: 'running', after },
  { owner_id: 'alice', include_ended: true, provider: 'userspace', after },
];

it.each(lists)('lists %j in order by an index', async (filter) => {
  const steps = await plans((store) => store.list({ limit: 10, ...filter }));
  expect(steps.join('\n')).toContain('INDEX');
  expect(steps.join('\n')).not.toContain('TEMP B-TREE');
});

it.each<[string, string, (store: SandboxStore) => Promise<unknown>]>([
  ['due', 'sandboxes_by_deadline', (store) => store.due(stamp(), 10)],
  ['due of an owner', 'sandboxes_by_deadline', (store) => store.due(stamp(), 10, 'alice')],
  ['next deadline', 'sandboxes_by_deadline', (store) => store.nextDeadline()],
  ['in states', 'sandboxes_by_state', (store) => store.inStates(['creating'], 10)],
  ['purge', 'sandboxes_by_end', (store) => store.purgeEnded(stamp())],
])('finds %s by %s', async (_, index, call) => {
  const steps = await plans(call);
  expect(steps.join('\n')).toContain(index);
  expect(steps.join('\n')).not.toMatch(/SCAN sandboxes(?! USING)/);
});
