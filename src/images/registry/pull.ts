// Pulls an image from a registry, or one of its mirrors, into the store. Layers that the store has are not fetched; several
// pulls of a layer, also in other processes, fetch it once; the next pull continues an interrupted one.
import { createReadStream } from 'node:fs';
import type { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { completeImageName, type ImageReference, parseImageReference } from '../../domain/image-name.ts';
import type { PulledFor } from '../../domain/machine-images.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { OWN_PLATFORM } from '../archive-images.ts';
import type { Descriptor } from '../documents.ts';
import type { FoundImage } from '../found-images.ts';
import { noStoredImage } from '../image-faults.ts';
import { findStored, type StoreDeps } from '../image-store.ts';
import { hasLayer, openStored, type Putting, putImage, putLayer } from '../put-image.ts';
import { withRoom } from '../retention.ts';
import { requireRoom } from '../room.ts';
import { withTemporary } from '../store-lock.ts';
import { makeStore, storePaths } from '../store-paths.ts';
import type { StoredName } from '../store-records.ts';
import { asDiskFull } from '../unpack.ts';
import { checkAllowed, endpointsFor, type RegistrySettings } from './allowed.ts';
import { fetchBlob } from './blobs.ts';
import { firstOf, RegistryClient } from './client.ts';
import { type ConnectionDeps, RegistryConnections } from './connections.ts';
import { readCredentials } from './credentials.ts';
import { asInvalidImage, imageTooLarge, pullTimedOut } from './faults.ts';
import { headDigest, type ResolvedImage, resolveImage } from './manifests.ts';
import { sweepParts, takePart } from './part-files.ts';

const DAY_MS = 24 * 3_600_000;
const EVENT_MS = 250;
/** No format of compression packs better. */
const MOST_RATIO = 1100;
const LEAST_LIMIT = 10 * 1024 * 1024;

export interface PullDeps extends Omit<ConnectionDeps, 'clock'> {
  store: StoreDeps;
  settings: RegistrySettings;
  /** Path of a config.json of Docker; empty for none. */
  dockerConfig: string;
  /** Timeout of an entire pull. */
  timeoutMs: number;
  /** Limits layers that are fetched at once, for all pulls of this process. */
  fetches: ConcurrencyLimit;
}

export interface PullRequest {
  image: string;
  for: PulledFor;
  /** missing: only what the store does not have. always: asks the registry whether the tag leads elsewhere now. */
  pull: 'missing' | 'always';
  /** Such as linux/arm64; this machine's without. */
  platform?: string | undefined;
  signal: AbortSignal;
  onEvent?: ((event: PullEvent) => void) | undefined;
}

export type PullEvent =
  | { stage: 'resolve'; digest: string; layers: number; total_bytes: number }
  | { stage: 'fetch'; layer: number; done_bytes: number; total_bytes: number }
  | { stage: 'unpack'; layer: number }
  | { stage: 'tree' };

export interface Pulled {
  found: FoundImage;
  /** Bytes of layers that came from a registry. */
  fetchedBytes: number;
  /** The store had it. */
  isUnchanged: boolean;
}

/**
 * Throws `bad_request` (not a name), `forbidden` (registry not allowed, or refuses), `not_found`, `resource_limit`,
 * `unavailable` (unreachable, timeout), `provider_error` (hostile or damaged), and the signal's reason.
 */
export async function pullImage(deps: PullDeps, request: PullRequest): Promise<Pulled> {
  const reference = parseImageReference(request.image);
  const known = await knownImage(deps, request);
  // The name is for everybody already, and so are its later images.
  if (known?.access === 'shared') request = { ...request, for: 'all' };
  const isClosed = known?.access === 'private' && request.for === 'anyone';
  const { requireDigest } = deps.settings;
  const isSettled = request.pull === 'missing' || reference.digest !== undefined || requireDigest;
  if (known && !isClosed && isSettled) return unchanged(deps, request, known);
  checkAllowed(deps.settings, reference);
  const { clock } = deps.store;
  const timeout = { clock, ms: deps.timeoutMs, error: pullTimedOut, signal: request.signal };
  return withTimeout(timeout, async (signal) => {
    const connections = new RegistryConnections({ ...deps, clock });
    try {
      const clients = await clientsFor(deps, reference, connections, request);
      return await pullFrom(deps, { ...request, signal }, { reference, clients, known });
    } finally {
      await connections.close();
    }
  });
}

/** Opens a private image that the registry gives to this caller, or that an administrator asks for. */
async function unchanged(
  { store }: PullDeps,
  { for: who, signal }: PullRequest,
  found: FoundImage,
): Promise<Pulled> {
  const access = who === 'all' ? 'shared' : undefined;
  const opens = who === 'all' ? found.access !== 'shared' : who === 'anyone' && found.access === 'private';
  if (opens) await openStored({ ...store, paths: storePaths(store.root) }, found, access, signal);
  return { found, fetchedBytes: 0, isUnchanged: true };
}

/** What the store has under this name for the platform. */
async function knownImage({ store }: PullDeps, { image, platform }: PullRequest) {
  const found = await findStored(store.root, image, store.clock.now());
  const isWanted = platform === undefined || samePlatform(found?.image.platform, platform);
  return isWanted ? found : undefined;
}

const samePlatform = (stored: string | undefined, wanted: string) =>
  stored === wanted.split('/').slice(0, 2).join('/');

async function clientsFor(
  deps: PullDeps,
  { registry, path }: ImageReference,
  connections: RegistryConnections,
  { image, for: who }: PullRequest,
): Promise<RegistryClient[]> {
  const { settings, store } = deps;
  const credentials = await readCredentials(who === 'anyone' ? '' : deps.dockerConfig);
  const common = { clock: store.clock, connections, settings, credentials, path, image };
  return endpointsFor(settings, registry).map((endpoint) => new RegistryClient({ ...common, endpoint }));
}

interface Source {
  reference: ImageReference;
  clients: readonly RegistryClient[];
  known: FoundImage | undefined;
}

async function pullFrom(deps: PullDeps, request: PullRequest, source: Source): Promise<Pulled> {
  const { store } = deps;
  const { signal } = request;
  const { tag, digest: pinned } = source.reference;
  const wanted = pinned ?? tag ?? 'latest';
  const [image, clients] = await firstOf(source.clients, signal, async (client) => {
    const documents = { clock: store.clock, client, signal };
    const isSame =
      source.known?.resolved !== undefined && (await headDigest(documents, wanted)) === source.known.resolved;
    return isSame ? undefined : resolveImage(documents, wanted, request.platform ?? OWN_PLATFORM);
  });
  if (!image && source.known) return unchanged(deps, request, source.known);
  if (!image) throw noStoredImage(request.image);
  const fetchedBytes = await withRoom(store, () => storeImage(deps, request, { image, clients }));
  const found = await findStored(store.root, request.image, store.clock.now());
  if (!found) throw noStoredImage(request.image);
  return { found, fetchedBytes, isUnchanged: false };
}

interface Fetching {
  image: ResolvedImage;
  clients: readonly RegistryClient[];
}

async function storeImage(
  deps: PullDeps,
  request: PullRequest,
  { image, clients }: Fetching,
): Promise<number> {
  const { store } = deps;
  const paths = storePaths(store.root);
  const lock = { ...store, paths };
  const total = image.layers.reduce((sum, { size }) => sum + size, 0);
  if (total > store.limits.maxBytes) throw imageTooLarge();
  await makeStore(paths);
  await sweepParts(store.agent, paths, store.clock.now() - DAY_MS);
  request.onEvent?.({
    stage: 'resolve',
    digest: image.digest,
    layers: image.layers.length,
    total_bytes: total,
  });
  return withTemporary(lock, request.signal, async (folder) => {
    const failed = new AbortController();
    const signal = AbortSignal.any([request.signal, failed.signal]);
    const isPrivate = request.for === 'trusted' && clients.some(({ hasCredentials }) => hasCredentials);
    const proof = { isPrivate, provesLayers: request.for === 'anyone' };
    const left = { ...store.limits };
    const putting: Putting = { ...lock, deps: store, folder, signal, left, ...proof };
    const run = { deps, request: { ...request, signal }, clients, putting };
    const layers = image.layers.map((layer, at) =>
      storeLayer(run, layer, image.diffIds[at] as string, at + 1),
    );
    const fetched = await allOf(layers, (reason) => failed.abort(reason));
    request.onEvent?.({ stage: 'tree' });
    const names = [completeImageName(request.image)];
    const origin = { source: 'registry', resolved: image.resolved, ...accessOf(request, isPrivate) };
    await putImage(putting, image, image.diffIds, { names, ...origin });
    return fetched.reduce((sum, bytes) => sum + bytes, 0);
  }).catch((error: unknown) => {
    throw asDiskFull(error);
  });
}

function accessOf({ for: who }: PullRequest, isPrivate: boolean): Pick<StoredName, 'access'> {
  if (who === 'all') return { access: 'shared' };
  return isPrivate ? { access: 'private' } : {};
}

/** All results. The first failure stops the others, and is thrown when all have ended. */
async function allOf<T>(work: readonly Promise<T>[], stop: (reason: unknown) => void): Promise<T[]> {
  for (const each of work) each.catch(stop);
  await Promise.allSettled(work);
  return Promise.all(work);
}

interface LayerRun extends Pick<Fetching, 'clients'> {
  deps: PullDeps;
  request: PullRequest;
  putting: Putting;
}

/** Returns how many bytes came from a registry. */
async function storeLayer(run: LayerRun, layer: Descriptor, diffId: string, number: number): Promise<number> {
  const { deps, request, putting } = run;
  const { signal } = request;
  const isMissing = async () => !(await hasLayer(putting, diffId));
  if (!(await isMissing())) return 0;
  return deps.fetches.run(async () => {
    if (deps.store.room) await requireRoom(putting.paths, deps.store.room, layer.size);
    const isPrivate = request.for !== 'anyone';
    const part = await takePart({ ...putting, isPrivate }, layer.digest, signal, isMissing);
    if (!part) return 0;
    let fetchedBytes = 0;
    try {
      const tell = reporter(run, number, layer.size);
      await fetchBlob({
        clock: deps.store.clock,
        clients: run.clients,
        digest: layer.digest,
        size: layer.size,
        file: part.file,
        layer: number,
        signal,
        onBytes: (done, fetched) => {
          fetchedBytes += fetched;
          tell(done);
        },
      });
      request.onEvent?.({ stage: 'unpack', layer: number });
      await unpackLayer(run, part.path, { layer, diffId, number });
    } catch (error) {
      await part.release();
      throw error;
    }
    await part.discard();
    return fetchedBytes;
  }, signal);
}

async function unpackLayer(
  { putting }: LayerRun,
  path: string,
  { layer, diffId, number }: { layer: Descriptor; diffId: string; number: number },
): Promise<void> {
  const { limits } = putting.deps;
  const maxBytes = Math.min(limits.maxBytes, layer.size * MOST_RATIO + LEAST_LIMIT);
  const bounded: Putting = { ...putting, deps: { ...putting.deps, limits: { ...limits, maxBytes } } };
  const open = async () => ({
    size: layer.size,
    bytes: createReadStream(path, { highWaterMark: 1024 * 1024 }),
  });
  const progress = { layer: number, layers: number };
  // The fetch has compared the packed bytes with their digest, under the lock that is still held.
  await putLayer(bounded, { digest: undefined, open }, diffId, progress).catch((error: unknown) => {
    throw asInvalidImage(error);
  });
}

/** At most four events a second, and one at the end. */
function reporter({ deps, request }: LayerRun, layer: number, total: number): (done: number) => void {
  const { clock } = deps.store;
  let next = Number.NEGATIVE_INFINITY;
  return (done) => {
    if (clock.monotonic() < next && done < total) return;
    next = clock.monotonic() + EVENT_MS;
    request.onEvent?.({ stage: 'fetch', layer, done_bytes: done, total_bytes: total });
  };
}
