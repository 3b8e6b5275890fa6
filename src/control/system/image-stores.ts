// The image stores that a call is for, and one call on all of them.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import type { MachineImages } from '../../domain/machine-images.ts';
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import { IMAGES } from '../../domain/worker-capabilities.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { RemoteProviders } from '../../providers/provider.ts';
import type { ImageFailure } from '../../schema/image-calls.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { Fleet } from '../workers/fleet.ts';
import { isStale } from '../workers/worker-terms.ts';

/** Workers that are called at once for one call. */
const AT_ONCE = 16;

export interface ImageStore {
  worker_id: string;
  images: MachineImages;
}

export interface ImageStoresDeps {
  /** The store of this server; absent where none of its providers runs images of a store. */
  images: MachineImages | undefined;
  workers: Pick<WorkerStore, 'list' | 'get'>;
  fleet: Pick<Fleet, 'callee' | 'terms'>;
  remote: RemoteProviders | undefined;
  clock: Clock;
}

/** Sorted by worker id. Throws `not_found` for an unknown worker, `unavailable` for one that cannot be called and where there is none. */
export async function imageStores(deps: ImageStoresDeps, worker: string | undefined): Promise<ImageStore[]> {
  if (worker !== undefined) return [await storeOfWorker(deps, worker)];
  const { images, workers, fleet, clock } = deps;
  const isOnline = (each: WorkerRecord) =>
    each.status !== 'offline' && !isStale(each, fleet.terms, clock.now());
  const known = deps.remote ? await workers.list() : [];
  const stores = known.filter(isOnline).flatMap((each) => remoteStore(deps, each) ?? []);
  if (images) stores.push({ worker_id: LOCAL_WORKER, images });
  if (stores.length === 0)
    throw new ServiceError('unavailable', 'No image store can be reached.', {
      remedy: 'Enable the provider userspace or microvm here, or start a worker with one of them.',
    });
  return stores.sort((a, b) => (a.worker_id < b.worker_id ? -1 : 1));
}

/** For what goes into one store: that of this server, or the only one. Throws as `imageStores`, and `bad_request` where there are several. */
export async function oneImageStore(deps: ImageStoresDeps, worker: string | undefined): Promise<ImageStore> {
  const stores = await imageStores(deps, worker);
  const own = stores.find(({ worker_id }) => worker_id === LOCAL_WORKER);
  const [first, ...others] = stores;
  if (own) return own;
  if (first && others.length === 0) return first;
  throw new ServiceError('bad_request', 'There are several workers with an image store.', {
    remedy: 'Name one of them as worker.',
  });
}

async function storeOfWorker(deps: ImageStoresDeps, id: string): Promise<ImageStore> {
  const known = await deps.workers.get(id);
  if (!known && id !== LOCAL_WORKER) throw new ServiceError('not_found', 'No worker with this id found.');
  const store =
    id === LOCAL_WORKER
      ? deps.images && { worker_id: id, images: deps.images }
      : known && remoteStore(deps, known);
  if (store) return store;
  throw new ServiceError('unavailable', `Worker ${id} has no image store that can be reached.`, {
    remedy: 'It needs the provider userspace or microvm, an address, and this version of svc.',
    details: { worker_id: id },
  });
}

function remoteStore({ fleet, remote }: ImageStoresDeps, worker: WorkerRecord): ImageStore | undefined {
  const callee = worker.capabilities.includes(IMAGES) ? fleet.callee(worker) : undefined;
  return remote && callee && { worker_id: worker.id, images: remote.images(callee) };
}

export interface Outcomes<T> {
  done: { worker_id: string; result: T }[];
  failures: ImageFailure[];
}

/**
 * What `work` gave in each store. Stores without the image are left out where others have it. Throws the first failure when
 * none succeeded.
 */
export async function inStores<T>(
  stores: readonly ImageStore[],
  signal: AbortSignal,
  work: (store: ImageStore) => Promise<T>,
): Promise<Outcomes<T>> {
  const limit = new ConcurrencyLimit(AT_ONCE);
  const outcomes = await Promise.allSettled(stores.map((store) => limit.run(() => work(store), signal)));
  signal.throwIfAborted();
  const done: Outcomes<T>['done'] = [];
  const failed: { worker_id: string; error: ServiceError }[] = [];
  for (const [at, outcome] of outcomes.entries()) {
    const { worker_id } = stores[at] as ImageStore;
    if (outcome.status === 'fulfilled') done.push({ worker_id, result: outcome.value });
    else failed.push({ worker_id, error: asServiceError(outcome.reason) });
  }
  const other = failed.filter(({ error }) => error.code !== 'not_found');
  if (done.length === 0) throw (other[0] ?? failed[0])?.error;
  const failures = other.map(({ worker_id, error: { code, message } }) => ({ worker_id, code, message }));
  return { done, failures };
}

/** Waits for `work` of a store at most `ms`. The store continues. */
export async function withinStore<T>(
  clock: Clock,
  { worker_id }: ImageStore,
  ms: number,
  work: Promise<T>,
): Promise<T> {
  return orAfter(clock, ms, work, () => {
    const whose = worker_id === LOCAL_WORKER ? 'this server' : `worker ${worker_id}`;
    throw new ServiceError('timeout', `The image store of ${whose} did not answer in time.`);
  });
}
