// The file system of an image: how large it is, and how it is made. It is only ever read, so it has no journal.
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Contents } from './contents.ts';
import { failure, type Tools } from './tools.ts';

const BLOCK = 4096;
const INODE = 256;
const MEBIBYTE = 1024 * 1024;
/** What a file system cannot do without, and a little more. */
const LEAST = 8 * MEBIBYTE;
/** Bitmaps, group descriptors, blocks of extents and of large folders. */
const OVERHEAD = 1.04;
const SPARE_INODES = 64;
const FEATURES =
  'none,extents,filetype,dir_index,sparse_super,large_file,huge_file,flex_bg,uninit_bg,dir_nlink,extra_isize,ext_attr';

/** Bytes of an image that just holds it. */
export function sizeFor({ inodes, blocks }: Pick<Contents, 'inodes' | 'blocks'>): number {
  const bytes = LEAST + (blocks * BLOCK + (inodes + SPARE_INODES) * INODE) * OVERHEAD;
  return Math.ceil(bytes / MEBIBYTE) * MEBIBYTE;
}

export interface FileSystemOrder {
  image: string;
  /** The folder that it is made of. */
  from: string;
  contents: Contents;
  /** Bytes; undefined: as small as its contents allow. */
  size: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Makes the file `image`. Throws as `failure` says. */
export async function makeFileSystem(tools: Tools, order: FileSystemOrder): Promise<void> {
  const { image, from, contents, signal } = order;
  const size = order.size ?? sizeFor(contents);
  await writeFile(image, '', { mode: 0o600 });
  await truncate(image, size);
  const inodes = `${contents.inodes + SPARE_INODES}`;
  const shape = ['-b', `${BLOCK}`, '-I', `${INODE}`, '-N', inodes, '-m', '0', '-O', FEATURES];
  const extended = 'root_owner=0:0,nodiscard,lazy_itable_init=1';
  const args = ['-q', '-F', '-t', 'ext4', ...shape, '-E', extended, '-d', from, image, `${size / BLOCK}`];
  await tools.run('mke2fs', args, signal);
}

/** Runs a script of debugfs on the image. Its exit status is always 0, so its output decides. */
export async function changeInodes(
  tools: Tools,
  order: { image: string; script: Iterable<Buffer>; folder: string; signal?: AbortSignal | undefined },
): Promise<void> {
  const path = join(order.folder, 'script');
  await writeFile(path, order.script);
  const output = await tools.run('debugfs', ['-w', '-f', path, order.image], order.signal);
  const complaints = output.split('\n').filter((line) => line !== '' && !line.startsWith('debugfs 1.'));
  if (complaints.length > 0) throw failure('debugfs', complaints.join('\n'));
}

/** Throws `provider_error` when the file system is not sound. */
export async function checkFileSystem(tools: Tools, image: string, signal?: AbortSignal): Promise<void> {
  await tools.run('e2fsck', ['-f', '-n', image], signal);
}
