// What a spawn demands of its worker, and why no worker meets it (docs/design/api.md#workers).
import { LOCAL_WORKER } from './worker-id.ts';

/** The workers that a spawn may go to; absent parts leave all. */
export interface WorkerDemand {
  worker_id?: string;
  /** The worker has all of these labels. */
  labels?: Readonly<Record<string, string>>;
  /** What the worker must be able to do with sandboxes of the provider (worker-capabilities.ts). */
  capability?: string;
  /** The workers that can; this server is not asked. Absent: any worker. */
  among?: readonly string[];
}

/** A registered worker, this server included, as a refusal sees it. */
export interface KnownWorker {
  id: string;
  labels: Readonly<Record<string, string>>;
  providers: readonly string[];
  isDraining: boolean;
  /** Online, with a recent heartbeat and an address. */
  isReachable: boolean;
}

/** Why no worker can run a spawn with a demand. `worker_unavailable` passes by itself, `worker_mismatch` does not. */
export interface Unmet {
  reason: 'worker_mismatch' | 'worker_unavailable';
  message: string;
}

/** How many labels a message lists. */
const NAMED = 10;

/** The demand of a spawn request; undefined if any worker will do. */
export function demandOf(request: {
  worker_id?: string;
  worker_labels?: Readonly<Record<string, string>>;
  capability?: string;
}): WorkerDemand | undefined {
  const { worker_id, worker_labels: labels = {}, capability } = request;
  const demand = {
    ...(worker_id !== undefined && { worker_id }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(capability !== undefined && { capability }),
  };
  return Object.keys(demand).length === 0 ? undefined : demand;
}

export function meets(
  { id, labels: own }: Pick<KnownWorker, 'id' | 'labels'>,
  demand: WorkerDemand | undefined,
): boolean {
  const { worker_id = id, labels = {} } = demand ?? {};
  return (
    worker_id === id &&
    isAmong(id, demand) &&
    Object.entries(labels).every(([key, value]) => has(own, key, value))
  );
}

const isAmong = (id: string, demand: WorkerDemand | undefined) =>
  demand?.among === undefined || id === LOCAL_WORKER || demand.among.includes(id);

/** Equal demands have equal texts. */
export function demandKey({ worker_id = '', labels = {}, capability }: WorkerDemand): string {
  const able = capability === undefined ? [] : [`:${capability}`];
  return [worker_id, ...shown(labels), ...able].join(' ');
}

/** Why none of `all` can run a spawn of `provider` with `demand`; the first reason that concerns all that are left. */
export function unmetDemand(demand: WorkerDemand, provider: string, all: readonly KnownWorker[]): Unmet {
  const { worker_id, labels = {} } = demand;
  const mismatch = (message: string): Unmet => ({ reason: 'worker_mismatch', message });
  const named = worker_id === undefined ? all : all.filter(({ id }) => id === worker_id);
  if (named.length === 0) return mismatch(`There is no worker ${worker_id}.`);
  const able = named.filter(({ id }) => isAmong(id, demand));
  if (able.length === 0)
    return mismatch(`No worker that may run it can hold sandboxes of ${provider} to an egress policy.`);
  const labelled = able.filter((worker) => meets(worker, demand));
  if (labelled.length === 0) return mismatch(`${lackOf(labels, able, worker_id)} ${labelsOf(able)}`);
  const who = worker_id === undefined ? 'Every worker with these labels' : `Worker ${worker_id}`;
  const offering = labelled.filter(({ providers }) => providers.includes(provider));
  if (offering.length === 0) {
    const offers = [...new Set(labelled.flatMap(({ providers }) => providers))].sort();
    const others = offers.length === 0 ? 'nothing now' : offers.join(', ');
    return mismatch(`${who} lacks provider ${provider}; offered: ${others}.`);
  }
  const passing = (says: string): Unmet => ({ reason: 'worker_unavailable', message: `${who} ${says}.` });
  if (offering.every(({ isDraining }) => isDraining))
    return passing('is draining and takes no new sandboxes');
  if (offering.every(({ isDraining, isReachable }) => isDraining || !isReachable))
    return passing('is offline, draining, or cannot be called');
  return passing('cannot run this sandbox now');
}

function lackOf(
  wanted: Readonly<Record<string, string>>,
  among: readonly KnownWorker[],
  id: string | undefined,
): string {
  const missing = Object.entries(wanted).filter(([key, value]) =>
    among.every(({ labels }) => !has(labels, key, value)),
  );
  if (missing.length === 0) return `No worker has all labels ${shown(wanted).join(', ')}.`;
  const texts = shown(Object.fromEntries(missing)).join(', ');
  const label = missing.length === 1 ? 'label' : 'labels';
  return id === undefined
    ? `No worker has the ${label} ${texts}.`
    : `Worker ${id} lacks the ${label} ${texts}.`;
}

/** The labels that exist, so that a typing error shows. */
function labelsOf(workers: readonly KnownWorker[]): string {
  const all = [...new Set(workers.flatMap(({ labels }) => shown(labels)))].sort();
  if (all.length === 0) return 'No labels exist there.';
  const more = all.length > NAMED ? `, and ${all.length - NAMED} more` : '';
  return `Existing labels: ${all.slice(0, NAMED).join(', ')}${more}.`;
}

const has = (labels: Readonly<Record<string, string>>, key: string, value: string) =>
  Object.hasOwn(labels, key) && labels[key] === value;
const shown = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
