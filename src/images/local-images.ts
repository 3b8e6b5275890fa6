// The image store of this machine, as calls use it.
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import {
  type ImageImportOrder,
  type ImageView,
  type ImageWatch,
  nameFilter,
  type OwnImages,
} from '../domain/machine-images.ts';
import type { Image } from '../schema/image.ts';
import {
  findStored,
  listStored,
  pruneStored,
  removeStored,
  type StoreDeps,
  tagStored,
} from './image-store.ts';
import { importImages } from './import.ts';
import type { ImagePulls } from './registry/pulls.ts';
import { storedImage, summaryOf } from './shown-images.ts';
import { storePaths } from './store-paths.ts';
import type { StoredName } from './store-records.ts';
import { storeSizes } from './store-sizes.ts';

/** Imports of this process at once: each unpacks, and keeps its archive on the disk. */
const MOST_IMPORTS = 4;
const AGAIN_MS = 10_000;

const visibleTo =
  ({ private_images }: ImageView) =>
  ({ access }: StoredName) =>
    private_images || access !== 'private';

export function localImages(store: StoreDeps, pulls: Pick<ImagePulls, 'pull'>): OwnImages {
  const { root } = store;
  let imports = 0;
  return {
    sizes: () => storeSizes(storePaths(root)),
    list: async ({ limit, name, after, inclusive, private_images }) => {
      const matches = nameFilter(name);
      const isVisible = visibleTo({ private_images });
      const follows = (reference: string) =>
        after === undefined || reference > after || (inclusive === true && reference === after);
      const isWanted = (stored: StoredName) =>
        follows(stored.name) && matches(stored.name) && isVisible(stored);
      return (await listStored(root, isWanted, limit)).map(summaryOf);
    },
    get: (name, view) => storedImage(root, name, visibleTo(view)),
    pull: async (order, { signal, onProgress }) => {
      const { found, fetchedBytes, isUnchanged } = await pulls.pull(order, signal, onProgress);
      const image = await storedImage(root, found.name);
      return { ...image, fetched_bytes: fetchedBytes, unchanged: isUnchanged };
    },
    import: async (archive, order, watch) => {
      if (imports >= MOST_IMPORTS) throw tooManyImports();
      imports += 1;
      try {
        return await importArchive(store, archive, order, watch);
      } finally {
        imports -= 1;
        archive.destroy();
      }
    },
    tag: async (name, other, view) => {
      const { name: complete } = await tagStored(store, name, other, view);
      return storedImage(root, complete);
    },
    remove: async (name, view) => {
      const found = await findStored(root, name, store.clock.now());
      const { names, freed_bytes } = await removeStored(store, name, view);
      return { name: names[0] ?? name, digest: found?.digest ?? '', freed_bytes };
    },
    prune: async ({ unusedForMs, dryRun, private_images }) => {
      const request = { unusedForMs, dryRun, publicOnly: !private_images };
      const { names, freed_bytes } = await pruneStored(store, request);
      return { removed: names, freed_bytes };
    },
  };
}

async function importArchive(
  store: StoreDeps,
  archive: Readable,
  { name, private_images }: ImageImportOrder,
  { signal, onProgress }: ImageWatch,
): Promise<Image[]> {
  const found = await importImages(store, {
    source: archive,
    name,
    private_images,
    signal,
    onLayer: eachQuarter(store, ({ layer, doneBytes, totalBytes }) =>
      onProgress?.({ stage: 'unpack', layer, done_bytes: doneBytes, total_bytes: totalBytes }),
    ),
  });
  return Promise.all(found.map(({ name: complete }) => storedImage(store.root, complete)));
}

interface LayerBytes {
  layer: number;
  doneBytes: number;
  totalBytes: number;
}

/** At most four events a second, and the last of each layer. */
function eachQuarter({ clock }: StoreDeps, report: (event: LayerBytes) => void): (event: LayerBytes) => void {
  let next = Number.NEGATIVE_INFINITY;
  return (event) => {
    if (clock.monotonic() < next && event.doneBytes < event.totalBytes) return;
    next = clock.monotonic() + 250;
    report(event);
  };
}

function tooManyImports(): ServiceError {
  return new ServiceError('unavailable', 'Too many images are being imported.', {
    remedy: 'Try again when these imports have finished.',
    retryAfterMs: AGAIN_MS,
  });
}
