// Workers and leases as maps: the reference twin of sqlite/workers.ts and sqlite/leases.ts.
import {
  type Placement,
  type PlacementCandidate,
  type PlacementLimits,
  placeBeside,
  placeSandbox,
} from '../../../src/domain/placement.ts';
import { LIVE_STATES } from '../../../src/domain/sandbox-state.ts';
import { SESSIONS } from '../../../src/domain/worker-capabilities.ts';
import { meets, unmetDemand } from '../../../src/domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../../src/domain/worker-id.ts';
import { workerIdTaken } from '../../../src/domain/worker-secret.ts';
import type { HeartbeatBody } from '../../../src/schema/worker.ts';
import { tooManyWorkers } from '../../../src/store/refusals.ts';
import type { LeaseStore, WorkerRecord, WorkerStore } from '../../../src/store/seam/workers.ts';
import { active, copy, type KeptWorker, type Tables } from './tables.ts';

export function memoryWorkers(tables: Tables): WorkerStore {
  const { workers } = tables;
  const shown = ({ images: _, ...worker }: KeptWorker): WorkerRecord =>
    copy({ ...worker, ...use(tables, worker.id) });
  return {
    heard: async (id, said, at, { most, claim }) => {
      const known = workers.get(id);
      const print = tables.worker_claims.get(id) ?? claim?.secret_print;
      if (claim && known && print !== claim.secret_print && known.last_heartbeat > claim.silent_since)
        throw workerIdTaken();
      if (!known && workers.size >= most) throw tooManyWorkers(most);
      const worker = heard(known ?? fresh(id, at), said, at);
      workers.set(id, worker);
      if (claim) tables.worker_claims.set(id, claim.secret_print);
      return shown(worker);
    },
    get: async (id) => {
      const worker = workers.get(id);
      return worker && shown(worker);
    },
    list: async () => [...workers.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).map(shown),
    drain: async (id, drain, at) => {
      const worker = workers.get(id);
      return worker && shown(Object.assign(worker, { drain, updated_at: at }));
    },
    remove: async (id) => {
      if (!workers.has(id)) return 'absent';
      if (activeOn(tables, id) + prewarmedOn(tables, id) > 0) return 'busy';
      workers.delete(id);
      tables.worker_claims.delete(id);
      return 'removed';
    },
  };
}

const fresh = (id: string, at: string): KeptWorker => ({
  ...{ id, hostname: '', status: 'online', providers: [], capabilities: [], labels: {}, images: [] },
  ...{ capacity: { max_sandboxes: 0, memory_mb: 0, vcpus: 0 }, drain: false },
  ...{ last_heartbeat: at, created_at: at, updated_at: at },
});

function heard(known: KeptWorker, { capacity, ...said }: HeartbeatBody, at: string): KeptWorker {
  const { hostname, status, providers, capabilities, labels, images, rpc_url, version } = said;
  const texts = { hostname, status, rpc_url, version };
  const given = Object.entries({ ...texts, providers, capabilities, labels, images });
  const { rpc_url: address, ...next } = {
    ...known,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
  return copy({
    ...next,
    ...(address && { rpc_url: address }),
    capacity: { ...known.capacity, ...capacity },
    last_heartbeat: at,
    updated_at: at,
  });
}

export function memoryLeases({ leases, sandboxes, warm }: Tables): LeaseStore {
  const byEnd = (a: { expires_at: string; resource_id: string }, b: typeof a) =>
    `${a.expires_at} ${a.resource_id}` < `${b.expires_at} ${b.resource_id}` ? -1 : 1;
  return {
    get: async (id) => copy(leases.get(id)),
    list: async () => copy([...leases.values()].sort(byEnd)),
    renew: async (id, holder_id, expires_at) => {
      const lease = leases.get(id);
      const isLive = warm.has(id) || LIVE_STATES.some((state) => state === sandboxes.get(id)?.state);
      if (lease?.holder_id !== holder_id || !isLive) return undefined;
      lease.generation++;
      if (lease.expires_at < expires_at) lease.expires_at = expires_at;
      return copy(lease);
    },
  };
}

function use(tables: Tables, id: string) {
  const active_by_provider: Record<string, number> = {};
  for (const { worker_id, provider } of active(tables))
    if (worker_id === id) active_by_provider[provider] = (active_by_provider[provider] ?? 0) + 1;
  return {
    active_sandboxes: activeOn(tables, id),
    active_by_provider,
    prewarmed_sandboxes: prewarmedOn(tables, id),
  };
}

const activeOn = (tables: Tables, id: string) =>
  active(tables).filter(({ worker_id }) => worker_id === id).length;

const prewarmedOn = (tables: Tables, id: string) =>
  [...tables.warm.values()].filter(({ worker_id }) => worker_id === id).length;

export function findWorker(
  tables: Tables,
  provider: string,
  limits: PlacementLimits,
  is_full: boolean,
): Placement {
  const { on, demand, heartbeat_after } = limits;
  const local = hasLocal(tables, limits) ? { is_full } : undefined;
  const others = candidates(tables, provider, limits);
  const placement = placeSandbox({ local, others }, on);
  if (!placement.is_lost || demand === undefined) return placement;
  const all = [...tables.workers.values()].map((worker) => ({
    ...worker,
    isDraining: worker.drain || worker.status === 'draining',
    isReachable:
      worker.id === LOCAL_WORKER ||
      (worker.status !== 'offline' &&
        worker.rpc_url !== undefined &&
        worker.last_heartbeat > heartbeat_after),
  }));
  return { ...placement, unmet: unmetDemand(demand, provider, all) };
}

/** The same for one to prewarm. */
export function findWorkerBeside(
  tables: Tables,
  provider: string,
  limits: PlacementLimits,
  is_full: boolean,
): Placement {
  const others = candidates(tables, provider, limits);
  return placeBeside({ local: hasLocal(tables, limits) ? { is_full } : undefined, others });
}

function hasLocal({ workers }: Tables, { local, demand }: PlacementLimits): boolean {
  const own = workers.get(LOCAL_WORKER);
  return local && own?.drain !== true && meets({ id: LOCAL_WORKER, labels: own?.labels ?? {} }, demand);
}

function candidates(
  tables: Tables,
  provider: string,
  { remote, sessions, heartbeat_after, demand, images = [] }: PlacementLimits,
): PlacementCandidate[] {
  return [...tables.workers.values()]
    .filter((worker) => remote && worker.id !== LOCAL_WORKER && isAble(worker, provider))
    .filter(({ last_heartbeat }) => last_heartbeat > heartbeat_after)
    .filter(({ capabilities }) => !sessions || capabilities.includes(SESSIONS))
    .filter((worker) => meets(worker, demand))
    .map(({ id, capacity: { max_sandboxes }, images: own }) => ({
      ...{ id, max_sandboxes, active: activeOn(tables, id) },
      prewarmed: prewarmedOn(tables, id),
      has_image: own.some((name) => images.includes(name)),
    }));
}

const isAble = ({ drain, status, rpc_url, providers }: KeptWorker, provider: string): boolean =>
  !drain && status === 'online' && rpc_url !== undefined && providers.includes(provider);
