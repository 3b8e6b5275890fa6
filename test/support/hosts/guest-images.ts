// Roots of virtual machines, as files: made once from the images that container tests run, kept beside them.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../remove.ts';
import { packageRoot } from '../servers/server.ts';

const FOLDER = join(packageRoot, '.cache/test-images');
const SIZES = { busybox: '24M', debian: '1G' } as const;

/** An ext4 file. Needs root, for the owners of what is in it. */
export function guestImage(name: keyof typeof SIZES): string {
  execFileSync(join(packageRoot, 'scripts/test-images.sh'), { stdio: ['ignore', 'ignore', 'inherit'] });
  const tar = join(FOLDER, `${name}.tar`);
  const image = join(FOLDER, `${name}.ext4`);
  if (!isNewer(image, tar)) make(tar, image, SIZES[name]);
  return image;
}

function isNewer(image: string, tar: string): boolean {
  const made = statSync(image, { throwIfNoEntry: false });
  return made !== undefined && made.mtimeMs > statSync(tar).mtimeMs;
}

/** Whoever comes at the same time makes one, too: the last one stays. */
function make(tar: string, image: string, size: string): void {
  const work = mkdtempSync(join(tmpdir(), 'svc-guest-image-'));
  try {
    execFileSync('tar', ['-C', work, '--numeric-owner', '-xpf', tar]);
    const fresh = `${image}.${process.pid}`;
    execFileSync('mke2fs', ['-q', '-F', '-t', 'ext4', '-O', '^has_journal', '-d', work, fresh, size]);
    renameSync(fresh, image);
  } finally {
    removeFolder(work);
  }
}
