// Owner quotas in the database.
import type { Database } from 'better-sqlite3';
import type { EventDraft } from '../../schema/event.ts';
import type { Quota, QuotaSummary } from '../../schema/quota.ts';
import { OWNERS } from '../owner-names.ts';
import { fromQuotaRow, type QuotaRow, toQuotaRow } from '../rows.ts';
import type { OwnerUse, QuotaStore } from '../seam/quotas.ts';
import { ownerCount, QUOTA_COLUMNS } from './admission-facts.ts';
import type { EventIds } from './event-ids.ts';
import { eventTable } from './events.ts';
import type { Executor } from './executor.ts';

export function quotaStore(db: Database, ids: EventIds, work: Executor): QuotaStore {
  return { ...quotaQueries(db, work), ...quotaWrites(db, ids, work) };
}

type Writes = Pick<QuotaStore, 'put' | 'delete'>;

const COLUMNS = `${QUOTA_COLUMNS}, egress`;
const SELECT = `SELECT ${COLUMNS} FROM owner_quotas`;
const ACTIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";

function quotaQueries(db: Database, work: Executor): Omit<QuotaStore, keyof Writes> {
  const get = db.prepare<[string], QuotaRow>(`${SELECT} WHERE owner_id = ?`);
  const first = db.prepare<[number], QuotaRow>(`${SELECT} ORDER BY created_at DESC, owner_id DESC LIMIT ?`);
  const next = db.prepare<[string, string, number], QuotaRow>(
    `${SELECT} WHERE (created_at, owner_id) < (?, ?) ORDER BY created_at DESC, owner_id DESC LIMIT ?`,
  );
  const found = (owner_id: string) => {
    const row = get.get(owner_id);
    return row && fromQuotaRow(row);
  };
  const active = ownerCount(db);
  const usage = db.transaction((owner_id: string) => {
    const quota = found(owner_id);
    return { active_sandboxes: active(owner_id), ...(quota && { quota }) };
  });
  const names = db.prepare<{ after: string; most: number }, string>(OWNERS('@after', '@most')).pluck();
  const owners = db.transaction((most: number, after: string): OwnerUse[] =>
    names.all({ after, most }).map((owner_id) => ({ owner_id, ...usage(owner_id) })),
  );
  const ending = db
    .prepare<[string, string], number>(
      `SELECT count(*) FROM sandboxes WHERE ${ACTIVE} AND owner_id = ? AND expires_at > ?`,
    )
    .pluck();
  const summary = db.prepare<[], QuotaSummary>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE max_sandboxes > 0) AS with_max_sandboxes,
            count(*) FILTER (WHERE max_ttl <> '0s') AS with_max_ttl,
            count(*) FILTER (WHERE max_exec_timeout <> '0s') AS with_max_exec_timeout FROM owner_quotas`,
  );
  return {
    get: (owner_id) => work.run(() => found(owner_id)),
    list: (limit, after) =>
      work.run(() =>
        (after ? next.all(after.created_at, after.id, limit) : first.all(limit)).map(fromQuotaRow),
      ),
    usage: (owner_id) => work.run(() => usage(owner_id)),
    summary: () => work.run(() => summary.get() as QuotaSummary),
    owners: (limit, after = '') => work.run(() => owners(limit, after)),
    endingAfter: (owner_id, stamp) => work.run(() => ending.get(owner_id, stamp) ?? 0),
  };
}

function quotaWrites(db: Database, ids: EventIds, work: Executor): Writes {
  const events = eventTable(db, ids);
  const upsert = db.prepare<QuotaRow, QuotaRow>(
    `INSERT INTO owner_quotas (${COLUMNS})
       VALUES (@owner_id, @max_sandboxes, @max_ttl, @max_exec_timeout, @created_at, @updated_at, @egress)
     ON CONFLICT (owner_id) DO UPDATE SET max_sandboxes = excluded.max_sandboxes, max_ttl = excluded.max_ttl,
       max_exec_timeout = excluded.max_exec_timeout, updated_at = excluded.updated_at, egress = excluded.egress
     RETURNING ${COLUMNS}`,
  );
  const remove = db.prepare<[string]>('DELETE FROM owner_quotas WHERE owner_id = ?');
  const put = db.transaction((quota: Quota, drafts: readonly EventDraft[]) => ({
    quota: fromQuotaRow(upsert.get(toQuotaRow(quota)) as QuotaRow),
    events: events.insert(drafts),
  }));
  const erase = db.transaction((owner_id: string, drafts: readonly EventDraft[]) =>
    remove.run(owner_id).changes === 0 ? undefined : { events: events.insert(drafts) },
  );
  const withIds = <T>(drafts: readonly EventDraft[], operation: () => T) => {
    ids.ensure(drafts.length);
    return operation();
  };
  return {
    put: (quota, drafts) => work.grow(() => withIds(drafts, () => put.immediate(quota, drafts))),
    delete: (owner_id, drafts) => work.settle(() => withIds(drafts, () => erase.immediate(owner_id, drafts))),
  };
}
