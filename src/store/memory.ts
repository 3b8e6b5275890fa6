// The store as plain maps: the reference for what the seam means, used in tests. Nothing survives the process.
// Every record goes in and out as a deep copy, so that no caller can change what is stored.
import {
  type AdmissionFacts,
  type AdmissionLimits,
  decideAdmission,
  requestOfRow,
} from '../domain/admission.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Ids, Random } from '../domain/ports.ts';
import { ACTIVE_STATES, hasEnded, LIVE_STATES } from '../domain/sandbox-state.ts';
import type { Event, EventDraft } from '../schema/event.ts';
import type { Quota } from '../schema/quota.ts';
import type { SandboxState } from '../schema/sandbox.ts';
import { memoryAudit } from './memory-audit.ts';
import { findPlace, memoryPool, type PoolTables, takePlace } from './memory-pool.ts';
import { memoryQuotas } from './memory-quotas.ts';
import { memoryTemplates } from './memory-templates.ts';
import { memoryWarm, takeWarm } from './memory-warm.ts';
import type { WarmRecord } from './seam/warm.ts';
import type {
  IdempotencyClaim,
  Replay,
  SandboxFilter,
  SandboxGroup,
  SandboxRecord,
  SandboxStore,
  Store,
} from './store.ts';

interface StoredClaim extends IdempotencyClaim {
  sandbox_id: string;
  created_at: string;
  response?: string;
}

interface Tables extends PoolTables {
  sandboxes: Map<string, SandboxRecord>;
  quotas: Map<string, Quota>;
  claims: Map<string, StoredClaim>;
  warm: Map<string, WarmRecord>;
  events: Event[];
  last_event_id: number;
}

export interface MemoryStoreDeps {
  clock: Clock;
  ids: Ids;
  random: Random;
}

/** A store of the seam's contract that holds everything in memory; `close` keeps it readable. */
export function memoryStore(deps: MemoryStoreDeps): Store {
  const tables: Tables = {
    ...{ sandboxes: new Map(), quotas: new Map(), claims: new Map(), warm: new Map() },
    ...{ vms: new Map(), uids: { given: 0 } },
    ...{ events: [], last_event_id: 0 },
  };
  return {
    instance: {
      id: deps.ids.uuid(),
      key: deps.random.bytes(32).toString('hex'),
      created_at: new Date(deps.clock.now()).toISOString(),
    },
    sandboxes: { ...writes(tables), ...reads(tables) },
    templates: memoryTemplates(),
    quotas: memoryQuotas(tables, {
      addEvents: (drafts) => addEvents(tables, drafts),
      active: (owner_id) => active(tables).filter((row) => row.owner_id === owner_id).length,
    }),
    warm: memoryWarm(tables.warm, () => active(tables).map(({ provider }) => provider)),
    pool: memoryPool(tables),
    events: {
      append: async (drafts) => addEvents(tables, drafts),
      since: async (after, limit) => copy(tables.events.filter((event) => event.id > after).slice(0, limit)),
      bounds: async () => ({ oldest: tables.events[0]?.id ?? 0, newest: tables.events.at(-1)?.id ?? 0 }),
      prune: async (keep) => tables.events.splice(0, Math.max(0, tables.events.length - keep)).length,
    },
    idempotency: {
      find: async (claim) => liveClaim(tables, claim),
      prune: async (before) => drop(tables.claims, (claim) => claim.created_at < before),
    },
    audit: memoryAudit(),
    ping: async () => {},
    close: async () => {},
  };
}

type Writes = Pick<SandboxStore, 'reserve' | 'transition' | 'extend' | 'purgeEnded'>;

function writes(tables: Tables): Writes {
  const held = (id: string, from: readonly SandboxState[]) => {
    const row = tables.sandboxes.get(id);
    return row && from.includes(row.state) ? row : undefined;
  };
  return {
    reserve: async (sandbox, limits, events, claim, warm) => {
      const known = claim && liveClaim(tables, claim);
      if (known) return known;
      const request = requestOfRow(sandbox);
      const decision = decideAdmission(request, limits, admissionFacts(tables, request, limits));
      if (!decision.allowed) return { kind: 'denied', decision };
      if (warm && !takeWarm(tables.warm, sandbox)) return { kind: 'gone' };
      if (tables.sandboxes.has(sandbox.id))
        throw new ServiceError('conflict', 'This sandbox exists already.');
      const placed = copy(limits.pool ? takePlace(tables, sandbox, limits.pool) : sandbox);
      tables.sandboxes.set(sandbox.id, placed);
      if (claim)
        tables.claims.set(claimId(claim), {
          ...claim,
          sandbox_id: sandbox.id,
          created_at: sandbox.created_at,
          ...warm,
        });
      return { kind: 'reserved', sandbox: copy(placed), events: addEvents(tables, events) };
    },
    transition: async ({ id, from, epoch, patch, events, response }) => {
      const row = held(id, from);
      if (row?.epoch !== epoch) return undefined;
      Object.assign(row, copy(patch));
      settleClaim(tables, row, response);
      return { sandbox: copy(row), events: addEvents(tables, events) };
    },
    extend: async (id, from, expires_at) => {
      const row = held(id, from);
      if (row && row.expires_at < expires_at) row.expires_at = expires_at;
      return copy(row);
    },
    purgeEnded: async (before) =>
      drop(
        tables.sandboxes,
        (row) => hasEnded(row.state) && row.ended_at !== undefined && row.ended_at < before,
      ),
  };
}

function reads(tables: Tables): Omit<SandboxStore, keyof Writes> {
  const all = () => [...tables.sandboxes.values()];
  const live = () =>
    all()
      .filter((row) => LIVE_STATES.some((state) => state === row.state))
      .sort(bySoonest);
  return {
    admission: async (request, limits) =>
      decideAdmission(request, limits, admissionFacts(tables, request, limits)),
    get: async (id) => copy(tables.sandboxes.get(id)),
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
  const { after, metadata = {} } = filter;
  if (filter.state ? row.state !== filter.state : !filter.include_ended && hasEnded(row.state)) return false;
  for (const column of ['owner_id', 'provider', 'worker_id', 'template'] as const)
    if (filter[column] !== undefined && row[column] !== filter[column]) return false;
  if (after && byNewest(row, after) <= 0) return false;
  return Object.entries(metadata).every(
    ([key, value]) => Object.hasOwn(row.metadata, key) && row.metadata[key] === value,
  );
}

/** A claim without a response is dead once its row is gone or has ended: nothing will ever answer for it. */
function liveClaim(tables: Tables, claim: IdempotencyClaim): Replay | undefined {
  const known = tables.claims.get(claimId(claim));
  if (known === undefined) return undefined;
  const { sandbox_id, fingerprint, response } = known;
  if (response !== undefined) return { kind: 'replay', sandbox_id, fingerprint, response };
  const row = tables.sandboxes.get(sandbox_id);
  return row && !hasEnded(row.state) ? { kind: 'replay', sandbox_id, fingerprint } : undefined;
}

function settleClaim(tables: Tables, row: SandboxRecord, response: string | undefined): void {
  for (const [id, claim] of tables.claims) {
    if (claim.sandbox_id !== row.id) continue;
    if (row.state === 'error') tables.claims.delete(id);
    else if (response !== undefined) claim.response = response;
  }
}

function addEvents(tables: Tables, drafts: EventDraft[]): Event[] {
  const events = copy(drafts).map((draft) => ({ id: ++tables.last_event_id, ...draft }));
  tables.events.push(...events);
  return copy(events);
}

function drop<T>(table: Map<string, T>, unwanted: (row: T) => boolean): number {
  const before = table.size;
  for (const [id, row] of table) if (unwanted(row)) table.delete(id);
  return before - table.size;
}

const copy = <T>(value: T): T => structuredClone(value);
const claimId = (claim: IdempotencyClaim) => JSON.stringify([claim.scope, claim.key]);
const active = (tables: Tables) =>
  [...tables.sandboxes.values()].filter((row) => ACTIVE_STATES.some((state) => state === row.state));

function admissionFacts(
  tables: Tables,
  { provider, owner_id }: { provider: string; owner_id?: string },
  { pool }: AdmissionLimits,
): AdmissionFacts {
  const rows = active(tables);
  const usage = {
    active_sandboxes: rows.length,
    active_provider_sandboxes: rows.filter((row) => row.provider === provider).length,
  };
  const asking = { provider, ...(owner_id !== undefined && { owner_id }) };
  const places = pool && { pool_is_full: findPlace(tables, asking, pool) === undefined };
  if (owner_id === undefined) return { usage, quota: undefined, ...places };
  const active_owner_sandboxes = rows.filter((row) => row.owner_id === owner_id).length;
  return { usage: { ...usage, active_owner_sandboxes }, quota: tables.quotas.get(owner_id), ...places };
}

type Place = Pick<SandboxRecord, 'created_at' | 'id'>;
const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const byNewest = (a: Place, b: Place) => compare(b.created_at, a.created_at) || compare(b.id, a.id);
const bySoonest = (a: SandboxRecord, b: SandboxRecord) =>
  compare(a.expires_at, b.expires_at) || compare(a.id, b.id);
