// A sandbox on a small image, for `svc doctor`: in an empty store beside the images, so that it meets the same file system.
import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { findAgent } from '../agent/binary.ts';
import { END_OF_ARCHIVE, headerOf } from '../domain/tar/tar-writer.ts';
import { packageRoot } from '../host/package-root.ts';
import { importImages } from '../images/import.ts';
import type { ImageTrial } from '../ops/doctor/check.ts';
import type { ProviderSet } from '../providers/provider.ts';
import type { Config } from '../schema/config.ts';
import { storeOf } from './image-pulls.ts';
import type { Operator } from './operator.ts';

const PREFIX = '.svc-doctor-image-';
const LIFE_MS = 5 * 60_000;
const MEMORY_MB = 64;
const IMAGE = 'svc-doctor/trial:1';

export interface TrialDeps extends Pick<Operator, 'host' | 'clock' | 'random'> {
  ids: { sandbox(): string };
  openProviders(config: Config, instance: ImageTrial['instance']): Promise<ProviderSet>;
}

/** As `DoctorDeps.tryImage`. Removes what a killed doctor left. */
export async function tryImage(
  deps: TrialDeps,
  { config: given, instance, folder }: ImageTrial,
  signal: AbortSignal,
): Promise<string[]> {
  await removeOld(folder, deps.clock.now());
  const root = await mkdtemp(join(folder, PREFIX));
  try {
    await chmod(root, 0o711);
    const agent = await findAgent(packageRoot(), process.arch);
    const config = { ...given, images: { ...given.images, path: root } };
    const source = Readable.from([EMPTY_ROOT], { objectMode: false });
    await importImages(storeOf({ ...config.images, keep_free_bytes: 0 }, { ...deps, agent }), {
      source,
      name: IMAGE,
      signal,
    });
    return await warningsOf(deps, await deps.openProviders(config, instance), signal);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function warningsOf(
  { ids, clock }: TrialDeps,
  providers: ProviderSet,
  signal: AbortSignal,
): Promise<string[]> {
  const provider = providers.get('userspace');
  const ref = { id: ids.sandbox(), epoch: 1 };
  try {
    const { warnings } = await provider.create(
      {
        ...ref,
        image: IMAGE,
        image_policy: 'present',
        memory_mb: MEMORY_MB,
        vcpus: 1,
        network: 'none',
        expires_at: new Date(clock.now() + LIFE_MS).toISOString(),
        deadline: clock.monotonic() + LIFE_MS,
      },
      signal,
    );
    return warnings;
  } finally {
    // A create that failed has removed what it made.
    await provider.destroy(ref, AbortSignal.timeout(LIFE_MS)).catch(() => undefined);
    await providers.close();
  }
}

async function removeOld(folder: string, now: number): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => each.startsWith(PREFIX))) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => undefined);
    if (facts && now - facts.mtimeMs > LIFE_MS) await rm(path, { recursive: true, force: true });
  }
}

/** A tar of a root file system that has an empty folder. */
const EMPTY_ROOT = Buffer.concat([
  headerOf({ path: 'etc/', type: 'dir', mode: 0o755, size: 0, mtime: 0 }),
  END_OF_ARCHIVE,
]);
