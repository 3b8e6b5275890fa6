// Roots of the virtual machines of the bench: a static busybox alone, and the Debian that the tests make.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Need, programs } from './needs.ts';

const BUSYBOX = '/bin/busybox';
const DEBIAN = '.cache/test-images/debian.ext4';

/** A monitor, a kernel, and what makes the disks. */
export const machines: Need = (root) => {
  if (process.arch !== 'x64') return 'virtual machines need an x86-64 processor';
  if (!existsSync('/lib/modules')) return 'no kernel is installed';
  return programs('qemu-system-x86_64', 'mke2fs')(root);
};

export const busyboxMachines: Need = (root) =>
  existsSync(BUSYBOX) ? machines(root) : `${BUSYBOX} is not there (busybox-static)`;

export const debianMachines: Need = (root) =>
  existsSync(join(root, DEBIAN)) ? machines(root) : 'its image is made by the tests of microVMs';

/** The ext4 file, below `home`. */
export function busyboxImage(_root: string, home: string): string {
  const folder = join(home, 'root');
  for (const name of ['bin', 'etc', 'root', 'tmp']) mkdirSync(join(folder, name), { recursive: true });
  copyFileSync(BUSYBOX, join(folder, 'bin/busybox'));
  for (const name of ['sh', 'true', 'echo']) symlinkSync('busybox', join(folder, 'bin', name));
  writeFileSync(join(folder, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
  const image = join(home, 'busybox.ext4');
  execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-d', folder, image, '16M']);
  return image;
}

export function debianImage(root: string): string {
  return join(root, DEBIAN);
}
