// The maps of the memory store, and what all its nouns do with them.

import { fairShares } from '../../../src/domain/fair-shares.ts';
import { ACTIVE_STATES } from '../../../src/domain/sandbox-state.ts';
import type { Event, EventDraft } from '../../../src/schema/event.ts';
import type { Quota } from '../../../src/schema/quota.ts';
import type { PrewarmedRecord } from '../../../src/store/seam/prewarmed.ts';
import type { LeaseRecord, WorkerRecord } from '../../../src/store/seam/workers.ts';
import type { SandboxRecord } from '../../../src/store/store.ts';
import type { StoredClaim } from './claims.ts';
import type { PoolTables } from './pool.ts';

/** A worker without what is counted, and with the images that only placement sees. */
type Counted = 'active_sandboxes' | 'active_by_provider' | 'prewarmed_sandboxes';
export type KeptWorker = Omit<WorkerRecord, Counted> & { images: string[] };

const ACTIVE: ReadonlySet<string> = new Set(ACTIVE_STATES);

export interface Tables extends PoolTables {
  sandboxes: Map<string, SandboxRecord>;
  quotas: Map<string, Quota>;
  claims: Map<string, StoredClaim>;
  warm: Map<string, PrewarmedRecord>;
  workers: Map<string, KeptWorker>;
  /** SHA-256 of the secret with which a worker claimed its id. */
  worker_claims: Map<string, string>;
  leases: Map<string, LeaseRecord>;
  events: Event[];
  last_event_id: number;
  /** Through which id events of an owner (empty: of none) have gone before their time. */
  event_gaps: Map<string, number>;
}

/** Of values as JSON has them. structuredClone takes a third of the time of a simulation. */
export function copy<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copy) as T;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, copy(part)])) as T;
}

export const active = (tables: Tables) =>
  [...tables.sandboxes.values()].filter((row) => ACTIVE.has(row.state));

export function addEvents(tables: Tables, drafts: readonly EventDraft[]): EventDraft[] {
  for (const draft of drafts) tables.events.push({ id: ++tables.last_event_id, ...copy(draft) });
  return copy([...drafts]);
}

/** The oldest of those who hold more than their share of `most`; `rows` are the oldest first. */
export function overShare<T>(rows: readonly T[], holder: (row: T) => string, most: number): Set<T> {
  const asked = new Map<string, number>();
  for (const row of rows) asked.set(holder(row), (asked.get(holder(row)) ?? 0) + 1);
  const shares = fairShares(asked, most);
  const over = new Map([...asked].map(([name, count]) => [name, count - (shares.get(name) ?? 0)]));
  const unwanted = new Set<T>();
  for (const row of rows) {
    const left = over.get(holder(row)) ?? 0;
    if (left > 0) unwanted.add(row);
    over.set(holder(row), left - 1);
  }
  return unwanted;
}

export function drop<T>(table: Map<string, T>, unwanted: (row: T) => boolean): number {
  const before = table.size;
  for (const [id, row] of table) if (unwanted(row)) table.delete(id);
  return before - table.size;
}
