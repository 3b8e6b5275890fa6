// What `svc image` works on in a test: a small root file system, and folders of its own.
import { join } from 'node:path';
import { tarArchive } from '../tar.ts';

export const SMALL_ROOTFS = tarArchive(
  { name: 'bin/sh', content: 'shell', mode: 0o755 },
  { name: 'home/of', content: 'somebody', uid: 1000, gid: 1001, mode: 0o600 },
);

/** The environment of a command whose images are below `folder`. */
export const imageFolders = (folder: string): Record<string, string> => ({
  HOME: folder,
  SVC_IMAGES_PATH: join(folder, 'store'),
  SVC_PROVIDERS_MICROVM_DATA_DIR: join(folder, 'data'),
});
