// Images of all stores as one list, and one of them.
import { ServiceError } from '../../domain/errors.ts';
import { type ImageView, nameFilter } from '../../domain/machine-images.ts';
import type { Image } from '../../schema/image.ts';
import type { ImageListQuery, ImageQuery } from '../../schema/image-calls.ts';
import type { ImagePage } from '../api/images.ts';
import { formatImageCursor, parseImageCursor } from './image-cursor.ts';
import { type ImageStore, type ImageStoresDeps, imageStores, inStores, withinStore } from './image-stores.ts';

const PAGE = 100;
const READ_MS = 10_000;

/** Throws where the only store that is asked fails; workers of several that fail are named. */
export async function listImages(
  deps: ImageStoresDeps,
  { name, cursor, worker, limit = PAGE }: ImageListQuery,
  view: ImageView,
  signal: AbortSignal,
): Promise<ImagePage> {
  nameFilter(name);
  const after = cursor === undefined ? undefined : parseImageCursor(cursor);
  const stores = await imageStores(deps, worker);
  const { done, failures } = await inStores(stores, signal, (store) => {
    const position = after && { after: after.reference, inclusive: store.worker_id > after.worker_id };
    const order = { limit, name, ...position, ...view };
    return withinStore(deps.clock, store, READ_MS, store.images.list(order, signal));
  });
  const all = done.flatMap(({ worker_id, result }) => result.map((image) => ({ ...image, worker_id })));
  all.sort((a, b) => byText(a.reference, b.reference) || byText(a.worker_id, b.worker_id));
  const images = all.slice(0, limit);
  const last = images.at(-1);
  const isFull = done.some(({ result }) => result.length === limit) || all.length > limit;
  return {
    images,
    ...(last && isFull && { next_cursor: formatImageCursor(last) }),
    unavailable: failures.map(({ worker_id }) => worker_id),
  };
}

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** That of this server where it has one, else of the first worker by id. Throws `not_found`. */
export async function getImage(
  deps: ImageStoresDeps,
  { name, worker }: ImageQuery,
  view: ImageView,
  signal: AbortSignal,
): Promise<Image> {
  const stores = await imageStores(deps, worker);
  const { done } = await inStores(stores, signal, (store: ImageStore) =>
    withinStore(deps.clock, store, READ_MS, store.images.get(name, view, signal)),
  );
  const found = done.find(({ worker_id }) => worker_id === 'local') ?? done[0];
  if (!found) throw new ServiceError('not_found', `No image named ${name} found.`);
  return { ...found.result, worker_id: found.worker_id };
}
