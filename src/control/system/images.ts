// The image stores of this server and its workers, as the API shows them.
import type { Readable } from 'node:stream';
import { isKeptApart } from '../../domain/access.ts';
import { parseDuration } from '../../domain/duration.ts';
import { asServiceError } from '../../domain/errors.ts';
import { completeImageName } from '../../domain/image-name.ts';
import type { ImageView, RemovedImage } from '../../domain/machine-images.ts';
import { accountOnWorkers } from '../../domain/owner-account.ts';
import { opensPrivate, pulledBy } from '../../domain/private-images.ts';
import type { PullReport } from '../../domain/pull-report.ts';
import { abortable } from '../../domain/timeout.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Image } from '../../schema/image.ts';
import {
  type ImageImportLine,
  type ImageImportQuery,
  type ImageProgress,
  type ImagePruneRequest,
  type ImagePullLine,
  type ImagePullRequest,
  type ImagesPulled,
  type ImagesStored,
  type PulledImage,
  UNUSED_FOR,
} from '../../schema/image-calls.ts';
import type { Caller } from '../api/caller.ts';
import type { Images } from '../api/images.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { getImage, listImages } from './image-listing.ts';
import { progressLines } from './image-progress.ts';
import {
  type ImageStore,
  type ImageStoresDeps,
  imageStores,
  inStores,
  oneImageStore,
  withinStore,
} from './image-stores.ts';

/** For changes: a store waits a minute for other changes. */
const CHANGE_MS = 120_000;

export interface ImagesDeps extends ImageStoresDeps {
  settings: Pick<Settings, 'enforce_owner' | 'privateOwners'>;
  publisher: Publisher;
  /** Publishes and counts a pull of a worker; those of this server report themselves. */
  pulled(report: PullReport): void;
}

export function imageViews(deps: ImagesDeps): Images {
  const { clock } = deps;
  return {
    list: (query, caller, signal) => listImages(deps, query, viewOf(deps, caller), signal),
    get: (query, caller, signal) => getImage(deps, query, viewOf(deps, caller), signal),
    pull: (request, caller, signal) => pull(deps, request, { caller, signal }),
    watchPull: (request, caller, signal) => {
      const work = async (onProgress: OnProgress): Promise<ImagePullLine> =>
        done(await pull(deps, request, { caller, signal, onProgress }));
      return progressLines(clock, work, failed);
    },
    import: (archive, query, caller, signal) => importInto(deps, archive, query, { caller, signal }),
    watchImport: (archive, query, caller, signal) => {
      const work = async (onProgress: OnProgress): Promise<ImageImportLine> =>
        done(await importInto(deps, archive, query, { caller, signal, onProgress }));
      return progressLines(clock, work, failed);
    },
    tag: async ({ name, as, worker }, caller, signal) => {
      const names = [checked(name), checked(as)] as const;
      const view = viewOf(deps, caller);
      return stored(await changed(deps, worker, signal, ({ images }) => images.tag(...names, view, signal)));
    },
    remove: async ({ name, worker }, caller, signal) => {
      checked(name);
      const view = viewOf(deps, caller);
      const outcomes = await changed(deps, worker, signal, ({ images }) => images.remove(name, view, signal));
      for (const { worker_id, result } of outcomes.done) noteRemoval(deps, caller, worker_id, result);
      const freed_bytes = sum(outcomes.done.map(({ result }) => result.freed_bytes));
      return { status: 'deleted', freed_bytes, ...failuresOf(outcomes) };
    },
    prune: (request, caller, signal) => prune(deps, request, { caller, signal }),
  };
}

type OnProgress = (event: ImageProgress) => void;

interface Terms {
  caller: Caller;
  signal: AbortSignal;
  onProgress?: OnProgress;
}

const viewOf = ({ settings }: ImagesDeps, caller: Caller): ImageView => ({
  private_images: opensPrivate(settings, caller, caller.owner),
});

/** Throws `bad_request` before any store is asked. */
function checked(name: string): string {
  completeImageName(name);
  return name;
}

const done = <T extends object>(result: T) => ({ stage: 'done' as const, ...result });

function failed(error: unknown) {
  const { code, message } = asServiceError(error);
  return { stage: 'error' as const, code, message };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

const failuresOf = ({ failures }: { failures: ImagesStored['failures'] & object }) =>
  failures.length > 0 ? { failures } : {};

type Done<T> = Awaited<ReturnType<typeof inStores<T>>>;

const stored = (outcomes: Done<Image>): ImagesStored => ({
  images: outcomes.done.map(({ worker_id, result }) => ({ ...result, worker_id })),
  ...failuresOf(outcomes),
});

async function changed<T>(
  deps: ImagesDeps,
  worker: string | undefined,
  signal: AbortSignal,
  work: (store: ImageStore) => Promise<T>,
): Promise<Done<T>> {
  const stores = await imageStores(deps, worker);
  return inStores(stores, signal, (store) => withinStore(deps.clock, store, CHANGE_MS, work(store)));
}

async function pull(deps: ImagesDeps, request: ImagePullRequest, terms: Terms): Promise<ImagesPulled> {
  checked(request.image);
  const stores = await imageStores(deps, request.worker);
  const outcomes = await inStores(stores, terms.signal, (store) => pullInto(deps, store, request, terms));
  return {
    images: outcomes.done.map(({ worker_id, result }) => ({ ...result, worker_id })),
    ...failuresOf(outcomes),
  };
}

async function pullInto(
  deps: ImagesDeps,
  { worker_id, images }: ImageStore,
  { image, pull: policy = 'always', platform }: ImagePullRequest,
  { caller, signal, onProgress }: Terms,
): Promise<PulledImage> {
  const { clock, settings } = deps;
  const isLocal = worker_id === LOCAL_WORKER;
  const owner = isKeptApart(settings, caller) ? (caller.owner ?? '') : undefined;
  const account = isLocal ? owner : accountOnWorkers(owner);
  const order = { image, pull: policy, for: pulledBy(settings, caller), ...(platform && { platform }) };
  const watch = {
    signal,
    onProgress: onProgress && ((event: ImageProgress) => onProgress({ ...event, worker_id })),
  };
  const began = clock.monotonic();
  const report = (outcome: Pick<PullReport, 'result' | 'error'>) => {
    const durationMs = Math.round(clock.monotonic() - began);
    if (!isLocal) deps.pulled({ image, durationMs, account: owner, workerId: worker_id, ...outcome });
  };
  try {
    const work = images.pull({ ...order, ...(account !== undefined && { account }) }, watch);
    const pulled = await abortable(work, signal);
    const { digest, size_bytes: sizeBytes, fetched_bytes: fetchedBytes, unchanged: isUnchanged } = pulled;
    report({ result: { digest, sizeBytes, fetchedBytes, isUnchanged }, error: undefined });
    return pulled;
  } catch (error) {
    if (!signal.aborted) report({ result: undefined, error });
    throw error;
  }
}

async function importInto(
  deps: ImagesDeps,
  archive: Readable,
  { name, worker }: ImageImportQuery,
  { caller, signal, onProgress }: Terms,
): Promise<ImagesStored> {
  try {
    if (name !== undefined) checked(name);
    const { worker_id, images } = await oneImageStore(deps, worker);
    const watch = {
      signal,
      onProgress: onProgress && ((event: ImageProgress) => onProgress({ ...event, worker_id })),
    };
    const made = await images.import(archive, { name, ...viewOf(deps, caller) }, watch);
    for (const image of made) {
      const { digest, size_bytes } = image;
      deps.publisher.note(
        'image.imported',
        {},
        { name: image.name, digest, size_bytes, worker_id },
        caller.actor,
      );
    }
    return { images: made.map((image) => ({ ...image, worker_id })) };
  } finally {
    archive.destroy();
  }
}

async function prune(
  deps: ImagesDeps,
  { unused_for = UNUSED_FOR, all = false, dry_run: dryRun = false, worker }: ImagePruneRequest,
  { caller, signal }: Terms,
) {
  const unusedForMs = all ? 0 : parseDuration(unused_for, 'unused_for');
  const order = { unusedForMs, dryRun, ...viewOf(deps, caller) };
  const outcomes = await changed(deps, worker, signal, ({ images }) => images.prune(order, signal));
  const removed = [...new Set(outcomes.done.flatMap(({ result }) => result.removed))].sort();
  for (const { worker_id, result } of outcomes.done)
    for (const name of dryRun ? [] : result.removed)
      deps.publisher.note('image.removed', {}, { name, worker_id }, caller.actor);
  const freed_bytes = sum(outcomes.done.map(({ result }) => result.freed_bytes));
  return { removed, freed_bytes, ...failuresOf(outcomes) };
}

function noteRemoval(
  { publisher }: ImagesDeps,
  { actor }: Caller,
  worker_id: string,
  { name, digest, freed_bytes }: RemovedImage,
): void {
  publisher.note('image.removed', {}, { name, digest, freed_bytes, worker_id }, actor);
}
