// Which kernels and first roots go when a server starts.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { GuestKernel } from '../../../../src/providers/microvm/kernel.ts';
import { snapshotKey, writeSnapshot } from '../../../../src/providers/microvm/snapshot.ts';
import { partsTended, pruneParts } from '../../../../src/providers/microvm/stale-parts.ts';
import { fakeClock, recordingLogger } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { SNAPSHOT_FACTS } from './snapshot-facts.ts';

const DAY_MS = 24 * 3_600_000;

function ground() {
  const clock = fakeClock();
  const dataFolder = temporaryFolder();
  const part = (kind: 'kernels' | 'initramfs', name: string, days: number) => {
    const folder = join(dataFolder, kind, name);
    mkdirSync(folder, { recursive: true });
    if (kind === 'initramfs') writeFileSync(join(folder, 'digest'), `digest of ${name}`);
    const at = (clock.now() - days * DAY_MS) / 1000;
    utimesSync(folder, at, at);
    return folder;
  };
  const current = {
    kernel: { path: join(part('kernels', '1-now', 9), 'vmlinux') } as GuestKernel,
    initramfs: { path: join(part('initramfs', 'now', 9), 'initramfs'), digest: 'digest of now' },
  };
  const prune = () => pruneParts({ clock, dataFolder, machinery: current });
  const left = () => ['kernels', 'initramfs'].map((kind) => readdirSync(join(dataFolder, kind)).sort());
  return { clock, dataFolder, part, prune, left, current };
}

it('removes unused parts, and keeps the parts of this server', async () => {
  const { clock, part, prune, left, current } = ground();
  for (const kind of ['kernels', 'initramfs'] as const) {
    part(kind, '1-old', 2);
    part(kind, '1-today', 0.9);
    part(kind, '.new-1-x', 9);
  }
  await prune();
  expect(left()).toEqual([
    ['.new-1-x', '1-now', '1-today'],
    ['.new-1-x', '1-today', 'now'],
  ]);
  expect(statSync(join(current.kernel.path, '..')).mtimeMs).toBe(clock.now());
});

it('keeps the parts of a snapshot of any server', async () => {
  const { dataFolder, part, prune, left } = ground();
  part('kernels', '1-aaaa', 2);
  part('kernels', '1-bbbb', 2);
  part('initramfs', 'saved', 2);
  part('initramfs', 'other', 2);
  const facts = { ...SNAPSHOT_FACTS, kernel_digest: 'aaaa5678', initramfs_digest: 'digest of saved' };
  const folder = join(dataFolder, 'templates', 'another', snapshotKey(facts));
  mkdirSync(folder, { recursive: true });
  await writeSnapshot(folder, { facts, secret: '11'.repeat(16), created_at: '' });
  await prune();
  expect(left()).toEqual([
    ['1-aaaa', '1-now'],
    ['now', 'saved'],
  ]);
});

it('keeps the parts of a guest of another server', async () => {
  const { part, prune, left } = ground();
  const run = part('kernels', '1-run', 2);
  part('kernels', '1-old', 2);
  const monitor = spawn('/bin/sh', ['-c', 'echo; read x', 'monitor', '-kernel', join(run, 'vmlinux')]);
  onTestFinished(async () => {
    monitor.stdin.end();
    await once(monitor, 'close');
  });
  await once(monitor.stdout, 'data');
  await prune();
  expect(left()[0]).toEqual(['1-now', '1-run']);
});

it('keeps parts that it uses and cannot mark', async () => {
  const { clock, dataFolder, part, current, left } = ground();
  part('kernels', '1-old', 2);
  const kernel = { path: '/nowhere/kernel/vmlinux' } as GuestKernel;
  await pruneParts({ clock, dataFolder, machinery: { ...current, kernel } });
  expect(left()).toEqual([[], ['now']]);
});

it('marks used parts every hour, and replacements at once', async () => {
  const { clock, dataFolder, part, current } = ground();
  const tend = partsTended({ clock, logger: recordingLogger(), config: { data_dir: dataFolder } });
  const folder = join(current.kernel.path, '..');
  await tend(current);
  const first = clock.now();
  await clock.advance(DAY_MS / 24 - 1);
  await tend(current);
  expect(statSync(folder).mtimeMs).toBe(first);
  await clock.advance(1);
  await tend(current);
  expect(statSync(folder).mtimeMs).toBe(clock.now());
  const other = part('kernels', '2-other', 0.9);
  await tend({ ...current, kernel: { path: join(other, 'vmlinux') } as GuestKernel });
  expect(statSync(other).mtimeMs).toBe(clock.now());
});
