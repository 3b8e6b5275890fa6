// The kernel of microVMs: found, unpacked once whatever it is packed in, made again when it changes or is damaged, and
// refused with the remedy when it can be none.
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { realHost } from '../../../../src/host/real-host.ts';
import { kernelSource } from '../../../../src/providers/microvm/kernel.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import {
  bzImage,
  elfKernel,
  gzipped,
  lz4Literals,
  modulesFolder,
  sized,
  VERSION,
} from '../../../support/hosts/guest-kernel.ts';
import { itWith } from '../../../support/requires.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

let folder: string;
let boot: string;
beforeEach(() => {
  folder = temporaryFolder();
  boot = join(folder, 'boot');
  mkdirSync(boot);
});

const install = (file: Buffer, name = `vmlinuz-${VERSION}`) => writeFileSync(join(boot, name), file);

const source = ({ kernelPath = '', host = fakeHost({}) } = {}) =>
  kernelSource({
    host,
    kernelPath,
    dataFolder: join(folder, 'data'),
    places: { boot, modules: join(folder, 'modules') },
  });

it('is unpacked once, with its version and its modules', async () => {
  install(gzipped(elfKernel()));
  const modules = modulesFolder(join(folder, 'modules'));
  const kernels = source();
  const [kernel, again] = await Promise.all([kernels.ready(), kernels.ready()]);
  expect(kernel).toMatchObject({ version: VERSION, pvh: true, modules });
  expect(kernel.digest).toMatch(/^[0-9a-f]{64}$/);
  expect(readFileSync(kernel.path)).toEqual(elfKernel());
  expect(statSync(kernel.path).mode & 0o777).toBe(0o444);
  expect(again).toBe(kernel);
  const made = statSync(kernel.path).ino;
  expect(statSync((await source().ready()).path).ino).toBe(made);
  expect(readdirSync(join(folder, 'data', 'kernels'))).toHaveLength(1);
});

it('is the newest cloud kernel by version number', async () => {
  for (const version of ['6.1.0-9-cloud-amd64', '6.1.0-10-cloud-amd64', '6.9.0-1-amd64'])
    install(gzipped(elfKernel({ version })), `vmlinuz-${version}`);
  expect((await source().ready()).version).toBe('6.1.0-10-cloud-amd64');
});

it('is used unchanged when not packed, and may have no modules', async () => {
  const kernelPath = join(folder, 'vmlinux');
  writeFileSync(kernelPath, elfKernel({ version: '5.10.0', pvh: false }));
  const kernel = await source({ kernelPath }).ready();
  expect(kernel).toMatchObject({ version: '5.10.0', pvh: false, modules: undefined });
});

it('changes when the file is replaced', async () => {
  install(gzipped(elfKernel()));
  const kernels = source();
  const { digest } = await kernels.ready();
  install(gzipped(elfKernel({ version: '6.1.0-10-cloud-amd64' })));
  const next = await kernels.ready();
  expect(next.digest).not.toBe(digest);
  expect(next.version).toBe('6.1.0-10-cloud-amd64');
});

it('is rebuilt when the stored file is truncated', async () => {
  install(gzipped(elfKernel()));
  const { path } = await source().ready();
  truncateSync(path, 10);
  expect(readFileSync((await source().ready()).path)).toEqual(elfKernel());
});

it('is unpacked from LZ4', async () => {
  install(sized(lz4Literals(elfKernel()), elfKernel().length));
  expect(readFileSync((await source().ready()).path)).toEqual(elfKernel());
});

for (const [program, args] of [
  ['xz', ['--check=crc32', '-c']],
  ['zstd', ['-c']],
  ['bzip2', ['-c']],
] as const)
  itWith([program], `is unpacked by ${program}`, async () => {
    const packed = execFileSync(program, args, { input: elfKernel() });
    install(sized(packed, elfKernel().length));
    const { path } = await source({ host: realHost() }).ready();
    expect(readFileSync(path)).toEqual(elfKernel());
  });

it.each([
  ['a missing kernel', undefined, /No kernel for microVMs found/],
  ['a file that is not a kernel', Buffer.from('#!/bin/sh\n'), /not a Linux kernel for x86/],
  ['a truncated image', gzipped(elfKernel()).subarray(0, 1700), /cut off/],
  ['an unknown compression', bzImage(Buffer.from('another packing')), /unknown compression/],
  [
    'a damaged compression',
    bzImage(Buffer.from('1f8b0800000000000003ffff', 'hex')),
    /not a complete gzip|512 MiB/,
  ],
  ['a kernel for another processor', gzipped(elfKernel({ machine: 183 })), /no 64-bit kernel for x86/],
  ['a kernel without a version', gzipped(elfKernel({ version: '' })), /its version/],
  ['a wrong size', sized(lz4Literals(elfKernel()), 10_000), /damaged/],
  ['a size beyond the limit', sized(lz4Literals(elfKernel()), 0xffffffff), /512 MiB/],
])('refuses %s with the remedy, and leaves nothing behind', async (_, file, words) => {
  if (file) install(file);
  await expect(source().ready()).rejects.toMatchObject({
    code: 'provider_error',
    message: expect.stringMatching(words),
    remedy: expect.stringMatching(/kernel/),
  });
  const kernels = join(folder, 'data', 'kernels');
  expect(statSync(kernels, { throwIfNoEntry: false }) ? readdirSync(kernels) : []).toEqual([]);
});

it('names a missing unpack program, and works once it is installed', async () => {
  install(bzImage(Buffer.from('fd377a585a000004', 'hex')));
  const kernels = source();
  await expect(kernels.ready()).rejects.toMatchObject({ remedy: expect.stringContaining('Install xz') });
  install(gzipped(elfKernel()));
  await expect(kernels.ready()).resolves.toMatchObject({ version: VERSION });
});

it('is refused when its modules cannot be read', async () => {
  install(gzipped(elfKernel()));
  mkdirSync(join(folder, 'modules'));
  symlinkSync(VERSION, join(folder, 'modules', VERSION));
  await expect(source().ready()).rejects.toMatchObject({
    code: 'provider_error',
    remedy: expect.stringContaining('ProtectKernelModules'),
  });
});
