// Wires the image store and the pulls of a serving process to its configuration.
import { findAgent } from '../agent/binary.ts';
import { ConcurrencyLimit } from '../domain/concurrency-limit.ts';
import { parseDuration } from '../domain/duration.ts';
import type { OwnImages } from '../domain/machine-images.ts';
import type { Clock, Logger, Random } from '../domain/ports.ts';
import type { Host } from '../host/host.ts';
import { ImageDisks } from '../images/disk/disks.ts';
import type { StoreDeps } from '../images/image-store.ts';
import { localImages } from '../images/local-images.ts';
import { mirrorsOf } from '../images/registry/allowed.ts';
import type { PullDeps } from '../images/registry/pull.ts';
import { ImagePulls } from '../images/registry/pulls.ts';
import { keepPruned } from '../images/retention.ts';
import type { Config } from '../schema/config.ts';
import { IMAGE_PROVIDERS } from '../schema/image-report.ts';

export function storeOf(
  images: Config['images'],
  deps: Pick<StoreDeps, 'agent' | 'host' | 'clock' | 'random'>,
): StoreDeps {
  return {
    ...deps,
    root: images.path,
    limits: { maxBytes: images.max_image_bytes, maxEntries: images.max_entries },
    room: { maxStoreBytes: images.max_store_bytes, keepFreeBytes: images.keep_free_bytes },
  };
}

/** Throws `bad_request` for an invalid mirror. */
export function pullDepsOf(images: Config['images'], store: StoreDeps): PullDeps {
  return {
    store,
    settings: {
      registries: images.registries,
      mirrors: mirrorsOf(images.mirrors),
      insecureRegistries: images.insecure_registries,
      requireDigest: images.require_digest,
    },
    dockerConfig: images.docker_config,
    timeoutMs: parseDuration(images.pull_timeout, 'images.pull_timeout'),
    fetches: new ConcurrencyLimit(images.concurrency),
  };
}

export interface ProcessImages {
  pulls: ImagePulls;
  disks: ImageDisks;
  images: OwnImages;
  /** Breaks off pulls, and disks that are being made. */
  close(): Promise<void>;
}

/** Whether one of the providers starts sandboxes from the image store. */
export const runsImages = (providers: readonly { kind: string }[]): boolean =>
  providers.some(({ kind }) => (IMAGE_PROVIDERS as readonly string[]).includes(kind));

interface ProcessDeps {
  config: Config;
  host: Host;
  clock: Clock;
  random: Random;
  packageRoot: string;
  logger: Logger;
}

/**
 * The pulls of this process, and the disks that it makes for virtual machines. Undefined when the agent, which unpacks layers, is
 * not built: then no sandbox starts either.
 */
export async function processImages({
  config: { images },
  packageRoot,
  host,
  clock,
  random,
  logger,
}: ProcessDeps): Promise<ProcessImages | undefined> {
  const agent = await findAgent(packageRoot, process.arch).catch(() => undefined);
  if (agent === undefined) return undefined;
  const store = storeOf(images, { agent, host, clock, random });
  const deps = pullDepsOf(images, store);
  const spawnWaitMs = parseDuration(images.spawn_wait, 'images.spawn_wait');
  const pulls = new ImagePulls({ ...deps, policy: images.pull, spawnWaitMs });
  const retentionMs = parseDuration(images.retention, 'images.retention');
  const stop = new AbortController();
  const pruning = retentionMs > 0 ? keepPruned(store, { retentionMs, logger }, stop.signal) : undefined;
  const disks = new ImageDisks({ store, timeoutMs: deps.timeoutMs, spawnWaitMs });
  return {
    pulls,
    disks,
    images: localImages(store, pulls),
    close: async () => {
      stop.abort();
      await pruning;
      await pulls.close();
      await disks.close();
    },
  };
}
