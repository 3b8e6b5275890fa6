// Folders of this instance's virtual machines: sockets and records in a run folder, disks and snapshots in data_dir. Only the
// server can use them: the monitor opens its files before it becomes another user.
import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { SlowFolders } from '../../host/slow-folders.ts';
import type { ImageDisks } from '../../images/disk/disks.ts';
import type { Config } from '../../schema/config.ts';
import type { MicrovmConfig } from '../../schema/config-microvm.ts';
import {
  type InstanceFolders,
  instanceFolders,
  makeInstanceFolders,
  runFolder,
  socketPath,
} from '../local/instance-folders.ts';
import type { LocalDeps } from '../local/runtimes.ts';
import type { ImageSource } from '../provider.ts';

export interface MicrovmDeps extends LocalDeps<MicrovmConfig> {
  imageStore: Pick<Config['images'], 'path'>;
  /** Pulls into the store; absent where nothing is pulled. */
  pulls?: ImageSource | undefined;
  /** Makes disks of stored images; absent where nothing is started. */
  disks?: Pick<ImageDisks, 'ready'> | undefined;
}

export interface MicrovmFolders extends InstanceFolders {
  /** One file a runtime, for what its guest changes. */
  overlays: string;
  /** One folder a snapshot. */
  snapshots: string;
}

/** Claims of uids are shared with userspace, folders are not: `v` keeps the two apart. */
export function microvmFolders({ host, instance, runtimeDir, config }: MicrovmDeps): MicrovmFolders {
  const folders = instanceFolders(host.uid, instance.id, runtimeDir);
  const short = `${folders.short}v`;
  return {
    ...folders,
    short,
    instance: join(folders.root, short),
    overlays: join(config.data_dir, 'overlays', short),
    snapshots: join(config.data_dir, 'templates', short),
  };
}

/** Prefix of guests that run only to be saved: no user asked for them, so they are not listed. */
export const SNAPSHOT_RUN_PREFIX = 'template-';

export function isSnapshotRun(name: string): boolean {
  return name.startsWith(SNAPSHOT_RUN_PREFIX);
}

/** Paths of one runtime. Throws `provider_error` when they are too long for sockets. */
export function runtimePaths(folders: MicrovmFolders, name: string) {
  const folder = runFolder(folders, name);
  return {
    folder,
    settings: join(folder, 'settings'),
    pidfile: join(folder, 'pid'),
    sockets: { agent: socketPath(folders, name), monitor: join(folder, 'vmm.sock') },
    overlay: join(folders.overlays, name),
  };
}
export type RuntimePaths = ReturnType<typeof runtimePaths>;

/** Makes the folders. Idempotent. Throws `provider_error`. */
export async function makeMicrovmFolders(folders: MicrovmFolders, uid: number): Promise<void> {
  await makeInstanceFolders(folders, uid);
  for (const folder of [folders.overlays, folders.snapshots])
    await makeFolders(folder, 0o700).catch((cause: unknown) => {
      throw new ServiceError('provider_error', 'Could not create the folder for virtual machines.', {
        cause,
        remedy: 'Check that providers.microvm.data_dir can be written.',
      });
    });
}

/** Removes disks whose runtime has no run folder: run folders are in memory and do not survive a reboot. */
export async function sweepOverlays(folders: MicrovmFolders, live: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(folders.overlays))
    if (!live.has(name)) await rm(join(folders.overlays, name), { recursive: true, force: true });
}

/** Takes the instance's folders off the host when no runtime is in them. Idempotent; never throws. */
export async function removeMicrovmFolders(folders: MicrovmFolders, slowly: SlowFolders): Promise<void> {
  await rmdir(folders.instance).catch(() => undefined);
  const removeData = async () => {
    for (const folder of [folders.overlays, folders.snapshots]) await rmdir(folder).catch(() => undefined);
  };
  await slowly(removeData).catch(() => undefined);
}
