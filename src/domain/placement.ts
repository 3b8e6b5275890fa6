// Which worker a sandbox goes to (docs/design/api.md#workers): this server while it has room, then the least loaded of
// the others.
import type { EventDraft } from '../schema/event.ts';
import type { Unmet, WorkerDemand } from './worker-demand.ts';
import { LOCAL_WORKER } from './worker-id.ts';

/** What is known before the workers are looked at. */
export interface PlacementLimits {
  /** Workers whose last heartbeat is older are not asked; this server hears itself. */
  heartbeat_after: string;
  /** This server could run it, as far as its providers go. */
  local: boolean;
  /** Other workers may run it. */
  remote: boolean;
  /** Only workers whose sandboxes can be used, since it has setup commands. */
  sessions: boolean;
  /** What the spawn demands of its worker. */
  demand?: WorkerDemand | undefined;
  /** Names of its image: among other workers with capacity, those that have one of them come first. */
  images?: readonly string[] | undefined;
  /** When the lease of another worker ends, unless renewed. */
  lease_until: string;
  /** Another worker that runs it already: it stays there, or is refused. */
  on?: string;
}

/** A worker that could run it: online, not draining, with the provider, and reachable. */
export interface PlacementCandidate {
  id: string;
  /** Sandboxes on the worker that have not ended. */
  active: number;
  /** Prewarmed ones on it. */
  prewarmed: number;
  /** 0: unknown. */
  max_sandboxes: number;
  /** It has the image of the sandbox. */
  has_image: boolean;
}

export interface Placement {
  /** Where it goes; absent: nowhere. */
  worker_id?: string;
  /** Workers that could run it and have room. */
  eligible: number;
  /** No worker could run it, were there room. */
  is_lost: boolean;
  /** Why no worker could run it; only with a demand. */
  unmet?: Unmet;
}

/** The load of a worker that does not say how much it holds is taken as if it held so many. */
const USUAL_ROOM = 100;

export interface Candidates {
  /** This server; absent when it cannot run the sandbox. */
  local: { is_full: boolean } | undefined;
  others: readonly PlacementCandidate[];
}

/**
 * A sandbox that runs on the worker `on` already is placed there while that worker accepts sandboxes. Prewarmed sandboxes
 * count as load, not against capacity: they make room for a spawn. Ties go by id.
 */
export function placeSandbox({ local, others }: Candidates, on?: string): Placement {
  if (on !== undefined) return stayingOn(on, others);
  const free = others.filter(({ active, max_sandboxes }) => max_sandboxes === 0 || active < max_sandboxes);
  const hasLocal = local !== undefined && !local.is_full;
  const worker_id = hasLocal ? LOCAL_WORKER : leastLoaded(free)?.id;
  return {
    ...(worker_id !== undefined && { worker_id }),
    eligible: free.length + Number(hasLocal),
    is_lost: local === undefined && others.length === 0,
  };
}

function leastLoaded(free: readonly PlacementCandidate[]): PlacementCandidate | undefined {
  const load = ({ active, prewarmed, max_sandboxes }: PlacementCandidate) =>
    (active + prewarmed) / (max_sandboxes || USUAL_ROOM);
  const lack = ({ has_image }: PlacementCandidate) => Number(!has_image);
  return [...free].sort((a, b) => lack(a) - lack(b) || load(a) - load(b) || (a.id < b.id ? -1 : 1))[0];
}

function stayingOn(on: string, others: readonly PlacementCandidate[]): Placement {
  const isThere = others.some(({ id }) => id === on);
  return isThere ? { worker_id: on, eligible: 1, is_lost: false } : { eligible: 0, is_lost: true };
}

/** For one to prewarm, which displaces nothing: the prewarmed ones count against capacity too. */
export function placeBeside({ local, others }: Candidates): Placement {
  const held = others.map((each) => ({ ...each, active: each.active + each.prewarmed, prewarmed: 0 }));
  return placeSandbox({ local, others: held });
}

/** Adds the chosen worker to events that were written before it was known. */
export function placedEvents(drafts: readonly EventDraft[], worker_id: string): EventDraft[] {
  return drafts.map((draft) =>
    draft.data?.worker_id === undefined ? draft : { ...draft, data: { ...draft.data, worker_id } },
  );
}
