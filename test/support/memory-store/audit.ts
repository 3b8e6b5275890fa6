// The audit as a plain list: the reference for what the seam means.
import { UNPROVEN_ACTORS } from '../../../src/domain/audit.ts';
import type { AuditRecord } from '../../../src/schema/audit.ts';
import type { AuditFilter, AuditStore } from '../../../src/store/seam/audit.ts';
import { copy } from './tables.ts';

type Stored = AuditRecord & { frequent?: boolean };

export function memoryAudit(): AuditStore {
  let records: Stored[] = [];
  let last = 0;
  return {
    append: async (drafts) => {
      for (const draft of drafts) records.push({ ...copy(draft), id: ++last });
    },
    list: async (filter) =>
      copy(
        records
          .filter((record) => matches(record, filter))
          .sort(byNewest)
          .slice(0, filter.limit)
          .map(({ frequent: _, ...record }) => record),
      ),
    purge: async (before, { keepUnproven, keepFrequent }) => {
      const held = records.length;
      const kept = records.filter(isUnproven).sort(byNewest).slice(0, keepUnproven);
      const stays = new Set(kept);
      records = records.filter(
        (record) =>
          record.created_at >= before &&
          (!isUnproven(record) || stays.has(record)) &&
          (!record.frequent || record.id > last - keepFrequent),
      );
      return held - records.length;
    },
  };
}

function matches(record: AuditRecord, filter: AuditFilter): boolean {
  for (const column of ['actor', 'target', 'method', 'status'] as const)
    if (filter[column] !== undefined && record[column] !== filter[column]) return false;
  if (filter.path !== undefined && !record.path.includes(filter.path)) return false;
  if (filter.since !== undefined && record.created_at < filter.since) return false;
  if (filter.until !== undefined && record.created_at >= filter.until) return false;
  return filter.after === undefined || byNewest(record, filter.after) > 0;
}

const isUnproven = ({ actor }: AuditRecord) => UNPROVEN_ACTORS.some((unproven) => unproven === actor);

type Cursor = Pick<AuditRecord, 'created_at' | 'id'>;
const byNewest = (a: Cursor, b: Cursor) =>
  a.created_at === b.created_at ? b.id - a.id : a.created_at < b.created_at ? 1 : -1;
