// Wires `svc image` to the configuration's folders, the image store and the container engine of this machine.
import { findAgent } from '../agent/binary.ts';
import { loadProcessConfig } from '../config/process-config.ts';
import { realClock } from '../host/clock.ts';
import { packageRoot } from '../host/package-root.ts';
import { realRandom } from '../host/random.ts';
import { realHost } from '../host/real-host.ts';
import type { StoreDeps } from '../images/image-store.ts';
import type { PullDeps } from '../images/registry/pull.ts';
import type { BuildDeps } from '../ops/image/stage.ts';
import type { ImageFolders } from '../providers/microvm/images.ts';
import { SILENT } from './doctor.ts';
import { pullDepsOf, storeOf } from './image-pulls.ts';

/** `file` is the value of `--config`. */
export function imagePlacesHere(file: string | undefined): ImageFolders {
  const { microvm } = loadProcessConfig({ file }).config.providers;
  return { dataFolder: microvm.data_dir, configured: microvm.images };
}

export function imageBuildHere(file: string | undefined): BuildDeps {
  const { microvm, container } = loadProcessConfig({ file }).config.providers;
  const clock = realClock();
  return {
    host: realHost(),
    clock,
    dataFolder: microvm.data_dir,
    exportOf: async (reference, work, signal) => {
      // Loaded on demand because it loads the engine's client.
      const { withExport } = await import('../ops/image/container-export.ts');
      return withExport({ clock, logger: SILENT, config: container }, reference, work, signal);
    },
  };
}

/** Hands `work` what the container engine of this machine saves of an image. Throws as `withSaved` does. */
export async function savedHere<T>(
  file: string | undefined,
  reference: string,
  work: (tar: AsyncIterable<Buffer>) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { container } = loadProcessConfig({ file }).config.providers;
  // Loaded on demand because it loads the engine's client.
  const { withSaved } = await import('../ops/image/container-export.ts');
  return withSaved({ clock: realClock(), logger: SILENT, config: container }, reference, work, signal);
}

/** images.path */
export function storeRootHere(file: string | undefined): string {
  return loadProcessConfig({ file }).config.images.path;
}

/** The image store of this machine. Throws `unavailable` when the agent is not built. */
export async function imageStoreHere(file: string | undefined): Promise<StoreDeps> {
  const { images } = loadProcessConfig({ file }).config;
  const agent = await findAgent(packageRoot(), process.arch);
  return storeOf(images, { agent, host: realHost(), clock: realClock(), random: realRandom() });
}

/** The image store of this machine, and the registries that fill it. Throws as `imageStoreHere` does. */
export async function imagePullsHere(file: string | undefined): Promise<PullDeps> {
  const { images } = loadProcessConfig({ file }).config;
  return pullDepsOf(images, await imageStoreHere(file));
}
