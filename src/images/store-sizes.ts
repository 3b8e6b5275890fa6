// How much the image store holds.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ImageSizes } from '../domain/machine-images.ts';
import type { StorePaths } from './store-paths.ts';
import { entriesOf, readLayer } from './store-records.ts';

/** Reads one file after the other: a store that hangs occupies one thread of this process. */
export async function storeSizes(paths: StorePaths): Promise<ImageSizes> {
  return {
    images: (await entriesOf(paths.names)).filter((file) => file.endsWith('.json')).length,
    ...(await keptSizes(paths)),
    partial: await filesIn(paths.blobs),
  };
}

/** What `images.max_store_bytes` limits. */
export async function keptSizes(paths: StorePaths): Promise<Pick<ImageSizes, 'layers' | 'disks'>> {
  let layers = 0;
  for (const layer of await entriesOf(paths.layers))
    layers += (await readLayer(paths, `sha256:${layer}`))?.bytes ?? 0;
  return { layers, disks: await filesIn(paths.disks) };
}

async function filesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await entriesOf(folder)) bytes += await sizeOf(join(folder, name));
  return bytes;
}

/** It may be removed meanwhile. */
const sizeOf = (path: string) =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );
