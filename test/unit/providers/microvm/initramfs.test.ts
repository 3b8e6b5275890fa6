// The first root of a guest, read back: exactly the modules that the kernel lacks, after what they need, and /init.
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { initramfsSource, QEMU_MODULES } from '../../../../src/providers/microvm/initramfs.ts';
import type { GuestKernel } from '../../../../src/providers/microvm/kernel.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { modulesFolder, VERSION } from '../../../support/hosts/guest-kernel.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const AGENT = Buffer.from('\x7fELF the agent', 'latin1');

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  writeFileSync(join(folder, 'agent'), AGENT);
});

const kernel = (modules?: string): GuestKernel => ({
  path: '/vmlinux',
  digest: 'd'.repeat(64),
  version: VERSION,
  pvh: true,
  modules,
});

const source = (agentPath = join(folder, 'agent')) =>
  initramfsSource({ host: fakeHost({}), dataFolder: join(folder, 'data'), packageRoot: folder, agentPath });

interface Entry {
  name: string;
  mode: number;
  device: string;
  content: string;
}

function entriesOf(archive: Buffer): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; ; ) {
    expect(archive.toString('latin1', at, at + 6)).toBe('070701');
    const number = (index: number) =>
      Number.parseInt(archive.toString('latin1', at + 6 + 8 * index, at + 14 + 8 * index), 16);
    const name = archive.toString('utf8', at + 110, at + 109 + number(11));
    const start = (at + 110 + number(11) + 3) & ~3;
    if (name === 'TRAILER!!!') return entries;
    const content = archive.toString('latin1', start, start + number(6));
    entries.push({ name, mode: number(1), device: `${number(9)}:${number(10)}`, content });
    at = (start + number(6) + 3) & ~3;
  }
}

const read = async (modules?: string) =>
  entriesOf(readFileSync((await source().ready(kernel(modules), QEMU_MODULES)).path));

it('holds the agent, a console, and modules after their dependencies', async () => {
  const entries = await read(modulesFolder(join(folder, 'modules')));
  expect(entries[0]).toMatchObject({ name: 'init', mode: 0o100500, content: AGENT.toString('latin1') });
  expect(entries).toContainEqual({ name: 'dev/console', mode: 0o020600, device: '5:1', content: '' });
  const order = entries
    .find(({ name }) => name === 'modules/order')
    ?.content.trim()
    .split('\n');
  expect(order).toEqual(
    [
      'virtio_ring',
      'virtio',
      'virtio_mmio',
      'virtio_blk',
      'overlay',
      'virtio_rng',
      'virtio_console',
      'failover',
      'virtio_net',
    ].map((name) => `/modules/${name}.ko`),
  );
  const files = entries.filter(({ name }) => name.endsWith('.ko')).map(({ name }) => `/${name}`);
  expect(files.sort()).toEqual(order?.sort());
  expect(entries.find(({ name }) => name === 'modules/virtio_rng.ko')?.content).toBe(
    '\x7fELF of drivers/char/hw_random/virtio-rng',
  );
});

it('holds no module when all are built in', async () => {
  const entries = await read();
  expect(entries.find(({ name }) => name === 'modules/order')?.content).toBe('');
});

it('unpacks modules', async () => {
  const modules = modulesFolder(join(folder, 'modules'), { suffix: '.gz', pack: (ko) => gzipSync(ko) });
  const entries = await read(modules);
  expect(entries.find(({ name }) => name === 'modules/overlay.ko')?.content).toBe(
    '\x7fELF of fs/overlayfs/overlay',
  );
});

it('is made once for each agent', async () => {
  const modules = modulesFolder(join(folder, 'modules'));
  const initramfs = source();
  const [one, two] = await Promise.all([
    initramfs.ready(kernel(modules), QEMU_MODULES),
    initramfs.ready(kernel(modules), QEMU_MODULES),
  ]);
  expect(two).toEqual(one);
  expect(await source().ready(kernel(modules), QEMU_MODULES)).toEqual(one);
  expect(readdirSync(join(folder, 'data', 'initramfs'))).toHaveLength(1);
  expect(statSync(one.path).mode & 0o777).toBe(0o444);
  writeFileSync(join(folder, 'agent'), '\x7fELF another agent');
  const next = await initramfs.ready(kernel(modules), QEMU_MODULES);
  expect(next.digest).not.toBe(one.digest);
});

it('is rebuilt when it was damaged', async () => {
  const modules = modulesFolder(join(folder, 'modules'));
  const { path, digest } = await source().ready(kernel(modules), QEMU_MODULES);
  truncateSync(path, 100);
  expect(await source().ready(kernel(modules), QEMU_MODULES)).toEqual({ path, digest });
  expect(readFileSync(path).length).toBeGreaterThan(100);
});

it('refuses a kernel without the features that a guest needs', async () => {
  const modules = modulesFolder(join(folder, 'modules'));
  await expect(source().ready(kernel(modules), ['virtio_gpu'])).rejects.toMatchObject({
    code: 'provider_error',
    message: expect.stringContaining('has no virtio_gpu'),
  });
  writeFileSync(join(modules, 'kernel/fs/overlayfs/overlay.ko'), 'no module');
  await expect(source().ready(kernel(modules), QEMU_MODULES)).rejects.toMatchObject({
    message: expect.stringContaining('overlay cannot be read'),
  });
});

it('refuses an agent that is not a program', async () => {
  writeFileSync(join(folder, 'script'), '#!/bin/sh\n');
  for (const path of [join(folder, 'script'), join(folder, 'nowhere')])
    await expect(source(path).ready(kernel(), [])).rejects.toMatchObject({
      code: 'unavailable',
      remedy: expect.stringContaining('agent_path'),
    });
});
