// The ledger of use as maps: the reference for what the seam means.
import type { UsageRecord, UsageRow, UsageStore } from '../../../src/store/seam/usage.ts';
import { addAmounts, noAmounts } from '../../../src/store/seam/usage.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import { startingHours } from '../../../src/store/usage-rows.ts';
import { copy } from './tables.ts';

export interface MemoryUsage {
  store: UsageStore;
  /** Opens or ends the row of a sandbox that has changed. */
  changed(row: SandboxRecord, isNew: boolean): void;
  /** Who has use. */
  owners(): string[];
}

export function memoryUsage(): MemoryUsage {
  const rows = new Map<string, UsageRecord>();
  const hours = new Map<string, UsageRow>();
  let until: string | undefined;
  return {
    changed: (row, isNew) => changed(rows, row, isNew),
    owners: () => [...hours.values()].map(({ owner_id }) => owner_id).filter((owner) => owner !== ''),
    store: {
      open: async (limit, after = '') =>
        copy(
          [...rows.values()]
            .filter((row) => !row.settled && row.sandbox_id > after)
            .sort(by((row) => row.sandbox_id))
            .slice(0, limit),
        ),
      of: async (ids) => copy([...rows.values()].filter((row) => ids.includes(row.sandbox_id))),
      settle: async (changes) =>
        changes.flatMap((change) => {
          const row = rows.get(change.sandbox_id);
          if (!row || row.version !== change.version) return [];
          if (change.settled && !(row.ended_at !== undefined && row.ended_at <= change.metered_to)) return [];
          for (const { hour, amounts, begins } of startingHours(change)) {
            addAmounts(row.totals, amounts);
            add(hours, { ...placeOf(row), hour, sandboxes: begins, amounts });
          }
          const { started_at: _, hours: __, ...values } = copy(change);
          if (change.last === undefined) Reflect.deleteProperty(row, 'last');
          Object.assign(row, values, { version: row.version + 1 });
          return [row.sandbox_id];
        }),
      rows: async ({ owner_id, from, to, step, by: told, limit }) => {
        const sums = new Map<string, UsageRow>();
        const fits = (row: UsageRow) =>
          row.hour >= from && row.hour < to && (owner_id === undefined || row.owner_id === owner_id);
        const found = [...hours.values()].filter(fits);
        const first = Math.min(...found.map(({ hour }) => hour));
        for (const row of found)
          add(sums, {
            ...{ owner_id: '', provider: '', template: '', sandboxes: row.sandboxes, amounts: row.amounts },
            ...Object.fromEntries(told.map((name) => [name, row[name]])),
            hour: step === 0 ? first : row.hour - (row.hour % step),
          });
        return copy([...sums.values()].sort(by(keyOf)).slice(0, limit));
      },
      sandboxes: async ({ owner_id, from, to, limit, after }) => {
        const ran = (row: UsageRecord) =>
          row.owner_id === owner_id && row.started_at < to && (row.ended_at ?? from) >= from;
        const place = (row: UsageRecord) => `${row.started_at} ${row.sandbox_id}`;
        return copy(
          [...rows.values()]
            .filter((row) => ran(row) && (!after || place(row) < `${after.started_at} ${after.id}`))
            .sort(by(place))
            .reverse()
            .slice(0, limit),
        );
      },
      completeUntil: async () => until,
      complete: async (stamp) => {
        until = until === undefined || stamp > until ? stamp : until;
      },
      purge: async (before) => purge(rows, hours, before),
    },
  };
}

function changed(rows: Map<string, UsageRecord>, row: SandboxRecord, isNew: boolean): void {
  if (row.state === 'running' && !rows.has(row.id))
    rows.set(row.id, {
      ...{ sandbox_id: row.id, owner_id: row.owner_id ?? '', provider: row.provider },
      ...{ template: row.template ?? '', vcpus: row.vcpus, memory_mb: row.memory_mb },
      ...{ started_at: row.created_at, metered_to: row.created_at, claimed: isNew, settled: false },
      ...{ version: 0, peak_memory_bytes: 0, oom_kills: 0, estimated: false, totals: noAmounts() },
    });
  const known = rows.get(row.id);
  if (known && row.ended_at !== undefined) known.ended_at ??= row.ended_at;
}

const by =
  <T>(key: (row: T) => string) =>
  (a: T, b: T) =>
    key(a) < key(b) ? -1 : 1;
const placeOf = ({ owner_id, provider, template }: UsageRecord) => ({ owner_id, provider, template });
const keyOf = ({ hour, owner_id, provider, template }: UsageRow) =>
  JSON.stringify([String(hour).padStart(12, '0'), owner_id, provider, template]);

function add(rows: Map<string, UsageRow>, row: UsageRow): void {
  const known = rows.get(keyOf(row));
  if (!known) return void rows.set(keyOf(row), copy(row));
  known.sandboxes += row.sandboxes;
  addAmounts(known.amounts, row.amounts);
}

function purge(
  rows: Map<string, UsageRecord>,
  hours: Map<string, UsageRow>,
  before: Parameters<UsageStore['purge']>[0],
): number {
  const count = rows.size + hours.size;
  for (const [key, row] of hours) if (row.hour < before.days) hours.delete(key);
  for (const [id, row] of rows) if (row.settled && (row.ended_at ?? '') < before.sandboxes) rows.delete(id);
  let joined = 0;
  for (const [key, row] of [...hours])
    if (row.hour < before.hours && row.hour % 24 !== 0) {
      hours.delete(key);
      add(hours, { ...row, hour: row.hour - (row.hour % 24) });
      joined++;
    }
  return Math.max(count - rows.size - hours.size, joined);
}
