// The store as plain maps: the reference for what the seam means, used in tests. Nothing survives the process.
// Every record goes in and out as a deep copy, so that no caller can change what is stored.
import { type AdmissionLimits, decideAdmission, requestOfRow } from '../../../src/domain/admission.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { placedEvents } from '../../../src/domain/placement.ts';
import type { Clock, Ids, Random } from '../../../src/domain/ports.ts';
import { hasEnded } from '../../../src/domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../../src/domain/worker-id.ts';
import type { EventDraft } from '../../../src/schema/event.ts';
import type { SandboxState } from '../../../src/schema/sandbox-states.ts';
import { allRoles, noSignals, singleReplica } from '../../../src/store/single-replica.ts';
import type { SandboxRecord, SandboxStore, Store, Transition } from '../../../src/store/store.ts';
import { memoryAudit } from './audit.ts';
import { claimId, liveClaim, settleClaim } from './claims.ts';
import { memoryClock } from './clock.ts';
import { memoryEvents } from './events.ts';
import { memoryExecs } from './execs.ts';
import { memoryKeys } from './keys.ts';
import { memoryPool, takePlace } from './pool.ts';
import { memoryWarm, takeWarm } from './prewarmed.ts';
import { memoryQuotas } from './quotas.ts';
import { admissionFacts, reads } from './reads.ts';
import { memoryReplicas } from './replicas.ts';
import { memoryRuntimes } from './runtimes.ts';
import { memorySecrets } from './secrets.ts';
import { memorySessions } from './sessions.ts';
import { active, addEvents, copy, drop, overShare, type Tables } from './tables.ts';
import { memoryTemplates } from './templates.ts';
import { type MemoryTickets, memoryTickets } from './tickets.ts';
import { type MemoryUsage, memoryUsage } from './usage.ts';
import { memoryLeases, memoryWorkers } from './workers.ts';

export interface MemoryStoreDeps {
  clock: Clock;
  ids: Ids;
  random: Random;
  /** Several control planes share it (shared.ts). */
  isShared?: boolean;
}

/** A store of the seam's contract that holds everything in memory; `close` keeps it readable. */
export function memoryStore(deps: MemoryStoreDeps): Store {
  const tables: Tables = {
    ...{ sandboxes: new Map(), quotas: new Map(), claims: new Map(), warm: new Map() },
    ...{ vms: new Map(), uids: { given: 0 }, workers: new Map(), leases: new Map() },
    worker_claims: new Map(),
    ...{ events: [], last_event_id: 0, event_gaps: new Map() },
  };
  const keys = memoryKeys();
  const tickets = deps.isShared ? memoryTickets() : undefined;
  const usage = memoryUsage();
  return {
    instance: {
      id: deps.ids.uuid(),
      key: deps.random.bytes(32).toString('hex'),
      created_at: new Date(deps.clock.now()).toISOString(),
    },
    sandboxes: { ...writes(tables, usage, tickets), ...reads(tables) },
    templates: memoryTemplates(),
    quotas: memoryQuotas(tables, {
      addEvents: (drafts) => addEvents(tables, drafts),
      active: (owner_id) => active(tables).filter((row) => row.owner_id === owner_id).length,
      known: () => [
        ...[...tables.sandboxes.values()].flatMap(({ owner_id }) => owner_id ?? []),
        ...usage.owners(),
      ],
      endingAfter: (owner_id, stamp) =>
        active(tables).filter((row) => row.owner_id === owner_id && row.expires_at > stamp).length,
    }),
    keys,
    sessions: memorySessions(keys.changed),
    secrets: memorySecrets(),
    warm: memoryWarm(tables),
    pool: memoryPool(tables),
    workers: memoryWorkers(tables),
    leases: memoryLeases(tables),
    events: memoryEvents(tables, deps.isShared === true),
    ...(deps.isShared
      ? memoryReplicas(deps.clock)
      : { replicas: singleReplica, roles: allRoles, signals: noSignals }),
    execs: memoryExecs(tables),
    usage: usage.store,
    idempotency: {
      find: async (claim) => liveClaim(tables, claim),
      prune: async (before, most = Number.POSITIVE_INFINITY) => {
        const old = drop(tables.claims, (claim) => claim.created_at < before);
        const kept = [...tables.claims.values()].sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
        const unwanted = overShare(kept, ({ scope }) => scope, most);
        return old + drop(tables.claims, (claim) => unwanted.has(claim));
      },
    },
    audit: memoryAudit(),
    clock: memoryClock(tables),
    ...(tickets && { tickets: tickets.store, runtimes: memoryRuntimes(tables) }),
    ping: async () => ({ commit_ms: 0 }),
    condition: () => ({ isChecking: false }),
    close: async () => {},
  };
}

type Writes = Pick<SandboxStore, 'reserve' | 'transition' | 'extend' | 'purgeEnded'>;

function writes(tables: Tables, usage: MemoryUsage, tickets?: MemoryTickets): Writes {
  const held = (id: string, from: readonly SandboxState[]) => {
    const row = tables.sandboxes.get(id);
    return row && from.includes(row.state) ? row : undefined;
  };
  return {
    reserve: async ({ sandbox, limits, events, claim, warm, ticket }) => {
      if (ticket && !tickets?.waits(ticket)) return { kind: 'no_ticket' };
      const known = claim && liveClaim(tables, claim);
      if (known) return known;
      const request = requestOfRow(sandbox);
      const decision = decideAdmission(request, limits, admissionFacts(tables, request, limits));
      if (!decision.allowed) return { kind: 'denied', decision };
      if (warm && !takeWarm(tables.warm, sandbox, warm.replica_id)) return { kind: 'gone' };
      if (tables.sandboxes.has(sandbox.id))
        throw new ServiceError('conflict', 'This sandbox exists already.');
      const placed = place(tables, sandbox, limits, decision.placement?.worker_id, warm !== undefined);
      usage.changed(placed, true);
      if (claim)
        tables.claims.set(claimId(claim), {
          ...claim,
          sandbox_id: sandbox.id,
          created_at: sandbox.created_at,
          ...warm,
        });
      const turn = ticket && tickets?.admitted(ticket.id, sandbox.id);
      return { kind: 'reserved', ...told(tables, placed, events), ...(turn !== undefined && { turn }) };
    },
    transition: async (change) => {
      const { id, patch, events, response, replica_id } = change;
      const row = held(id, change.from);
      if (!row || !isAsFound(tables, row, change)) return undefined;
      Object.assign(row, copy(patch), replica_id && { replica_id });
      if (replica_id === null) Reflect.deleteProperty(row, 'replica_id');
      settleClaim(tables, row, response);
      usage.changed(row, false);
      if (hasEnded(row.state)) tables.leases.delete(id);
      return { sandbox: copy(row), events: addEvents(tables, events) };
    },
    extend: async (id, from, { was, expires_at }) => {
      const row = held(id, from);
      if (!row || ![was, expires_at].includes(row.expires_at)) return undefined;
      return copy(Object.assign(row, { expires_at }));
    },
    purgeEnded: async (...args) => purgeEnded(tables, ...args),
  };
}

/** Whether the row and its lease are as the change says. */
function isAsFound({ leases }: Tables, row: SandboxRecord, change: Transition): boolean {
  const { epoch, expires_at = row.expires_at, lease_generation: generation } = change;
  const isHeld = generation === undefined || leases.get(row.id)?.generation === generation;
  return row.epoch === epoch && row.expires_at === expires_at && isHeld;
}

function purgeEnded({ sandboxes }: Tables, before: string, most = Number.POSITIVE_INFINITY): number {
  const old = drop(
    sandboxes,
    (row) => hasEnded(row.state) && row.ended_at !== undefined && row.ended_at < before,
  );
  const ended = [...sandboxes.values()].filter(({ state }) => hasEnded(state));
  ended.sort((a, b) => ((a.ended_at ?? '') < (b.ended_at ?? '') ? -1 : 1));
  const unwanted = overShare(ended, ({ owner_id = '' }) => owner_id, most);
  return old + drop(sandboxes, (row) => unwanted.has(row));
}

/** The row where it goes, in the tables, with its lease. */
function place(
  tables: Tables,
  sandbox: SandboxRecord,
  { pool, placement }: AdmissionLimits,
  worker_id = sandbox.worker_id,
  hasLease = false,
): SandboxRecord {
  const placed = copy({ ...(pool ? takePlace(tables, sandbox, pool) : sandbox), worker_id });
  tables.sandboxes.set(sandbox.id, placed);
  if (placement && !hasLease && worker_id !== LOCAL_WORKER) {
    const { lease_until: expires_at } = placement;
    const { id, created_at } = sandbox;
    tables.leases.set(id, { resource_id: id, holder_id: worker_id, generation: 1, expires_at, created_at });
  }
  return placed;
}

function told(tables: Tables, row: SandboxRecord, drafts: readonly EventDraft[]) {
  return { sandbox: copy(row), events: addEvents(tables, placedEvents(drafts, row.worker_id)) };
}
