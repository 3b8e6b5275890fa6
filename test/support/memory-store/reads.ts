// What reads sandboxes of the memory store, and what admission is decided on.

import {
  type AdmissionFacts,
  type AdmissionLimits,
  decideAdmission,
  reached,
} from '../../../src/domain/admission.ts';
import { lowerAscii } from '../../../src/domain/lower-ascii.ts';
import { hasEnded, LIVE_STATES } from '../../../src/domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../../src/domain/worker-id.ts';
import type { SandboxFilter, SandboxGroup, SandboxRecord, SandboxStore } from '../../../src/store/store.ts';
import { findPlace } from './pool.ts';
import { active, copy, type Tables } from './tables.ts';
import { findWorker } from './workers.ts';

export function reads(
  tables: Tables,
): Omit<SandboxStore, 'reserve' | 'transition' | 'extend' | 'purgeEnded'> {
  const all = () => [...tables.sandboxes.values()];
  const live = () =>
    all()
      .filter((row) => LIVE_STATES.some((state) => state === row.state))
      .sort(bySoonest);
  return {
    admission: async (request, limits) =>
      decideAdmission(request, limits, admissionFacts(tables, request, limits)),
    get: async (id) => copy(tables.sandboxes.get(id)),
    getDurable: async (id) => copy(tables.sandboxes.get(id)),
    getWithQuota: async (id) => {
      const sandbox = tables.sandboxes.get(id);
      const quota = tables.quotas.get(sandbox?.owner_id ?? '');
      return sandbox && copy({ sandbox, ...(quota && { quota }) });
    },
    list: async (filter) =>
      copy(
        all()
          .filter((row) => matches(row, filter))
          .sort(byNewest)
          .slice(0, filter.limit),
      ),
    inStates: async (states, limit) =>
      copy(
        all()
          .filter((row) => states.includes(row.state))
          .sort((a, b) => byNewest(b, a))
          .slice(0, limit),
      ),
    due: async (now, limit, owner_id) =>
      copy(
        live()
          .filter((row) => row.expires_at <= now && (owner_id === undefined || row.owner_id === owner_id))
          .slice(0, limit),
      ),
    nextDeadline: async () => live()[0]?.expires_at,
    census: async () => census(tables),
    countActive: async () => {
      const by_provider: Record<string, number> = {};
      for (const { provider } of active(tables)) by_provider[provider] = (by_provider[provider] ?? 0) + 1;
      return { total: active(tables).length, by_provider };
    },
  };
}

function census(tables: Tables): SandboxGroup[] {
  const groups = new Map<string, SandboxGroup>();
  for (const { state, provider, worker_id } of active(tables)) {
    const key = JSON.stringify([state, provider, worker_id]);
    const group = groups.get(key) ?? { state, provider, worker_id, count: 0 };
    groups.set(key, { ...group, count: group.count + 1 });
  }
  return [...groups.values()];
}

function matches(row: SandboxRecord, filter: SandboxFilter): boolean {
  const { after, metadata = {}, ids, q = '' } = filter;
  if (ids && !ids.includes(row.id)) return false;
  if (![row.id, row.owner_id, row.template].some((text) => text && lowerAscii(text).includes(lowerAscii(q))))
    return false;
  if (filter.state ? row.state !== filter.state : !filter.include_ended && hasEnded(row.state)) return false;
  for (const column of ['owner_id', 'provider', 'worker_id', 'template'] as const)
    if (filter[column] !== undefined && row[column] !== filter[column]) return false;
  if (after && byNewest(row, after) <= 0) return false;
  return Object.entries(metadata).every(
    ([key, value]) => Object.hasOwn(row.metadata, key) && row.metadata[key] === value,
  );
}

export function admissionFacts(
  tables: Tables,
  { provider, owner_id }: { provider: string; owner_id?: string },
  { pool, placement, max_provider_sandboxes }: AdmissionLimits,
): AdmissionFacts {
  const rows = active(tables);
  const usage = {
    active_sandboxes: rows.length,
    active_provider_sandboxes: rows.filter(
      (row) => row.provider === provider && row.worker_id === LOCAL_WORKER,
    ).length,
  };
  const asking = { provider, ...(owner_id !== undefined && { owner_id }) };
  const isLocalFull = reached(usage.active_provider_sandboxes, max_provider_sandboxes);
  const places = {
    ...(pool && { pool_is_full: findPlace(tables, asking, pool) === undefined }),
    ...(placement && { placement: findWorker(tables, provider, placement, isLocalFull) }),
  };
  if (owner_id === undefined) return { usage, quota: undefined, ...places };
  const active_owner_sandboxes = rows.filter((row) => row.owner_id === owner_id).length;
  return { usage: { ...usage, active_owner_sandboxes }, quota: tables.quotas.get(owner_id), ...places };
}

type Cursor = Pick<SandboxRecord, 'created_at' | 'id'>;
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const byNewest = (a: Cursor, b: Cursor) => compare(b.created_at, a.created_at) || compare(b.id, a.id);
const bySoonest = (a: SandboxRecord, b: SandboxRecord) =>
  compare(a.expires_at, b.expires_at) || compare(a.id, b.id);
