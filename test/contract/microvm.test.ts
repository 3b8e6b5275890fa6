// Runtimes in virtual machines, emulated: the contract of every provider, and what a machine of its own adds to it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { type BehindWorker, behindWorker } from '../support/hosts/behind-worker.ts';
import { type MicrovmHome, machineProcesses, machineRemains, microvmHome } from '../support/hosts/microvm.ts';
import { freshId, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { BEHIND_WORKER, type Promises, type ProviderGround, providerContract } from './provider.suite.ts';

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'runtimes of QEMU', () => {
  let place: MicrovmHome;
  let provider: Provider;
  const others: Provider[] = [];
  const other: typeof place.provider = (...of) => {
    others.push(place.provider(...of));
    return others.at(-1) as Provider;
  };

  // Saving a guest may take a busy machine longer than the suite's calls may last.
  beforeAll(async () => {
    place = microvmHome();
    provider = place.provider();
    for (const memory_mb of [128, 64]) {
      const id = freshId();
      await provider.create(runtimeSpec(id, { memory_mb }), AbortSignal.timeout(100_000));
      await provider.destroy({ id, epoch: 1 }, soon());
    }
    await until('templates', async () => (await provider.snapshots?.(soon()))?.length === 2, 100_000);
  }, 300_000);
  afterAll(async () => {
    for (const one of [...others, provider, provider]) await one.close();
    expect(existsSync(place.runs)).toBe(false);
    expect(machineProcesses(place.runs)).toEqual([]);
    place.remove();
  });

  const pid = (name: string) =>
    JSON.parse(readFileSync(join(place.runs, name, 'runtime.json'), 'utf8')).pid as number;
  const promises: Promises = {
    moments: [0, 20, 60, 200, 600],
    outlasts: false,
    watches: true,
    measures: 'host',
    separatesNetworks: true,
    memory: 'the program',
  };
  const ground = (): ProviderGround => ({
    provider,
    restarted: () => other(),
    stranger: () => other({}, { instance: { ...place.instance, id: `ffff${place.instance.id.slice(4)}` } }),
    spec: runtimeSpec,
    left: async (ids) => ids.flatMap((id) => machineRemains(place, id)),
    kill: async (name) => void process.kill(pid(name), 'SIGKILL'),
    freeze: async (name) => void process.kill(pid(name), 'SIGSTOP'),
  });
  providerContract(promises, ground);

  describe('behind a worker', () => {
    let worker: BehindWorker;
    beforeAll(async () => {
      worker = await behindWorker(provider);
    });
    afterAll(() => worker.stop());
    providerContract({ ...promises, ...BEHIND_WORKER }, () => worker.ground(ground()));
  });

  it('remove disks that a reboot left without their run folders', async () => {
    const disk = join(place.home, 'data/overlays', basename(place.runs), 'sb-before.1');
    writeFileSync(disk, 'x');
    const next = other();
    await expect(next.create(runtimeSpec(freshId()), AbortSignal.timeout(1))).rejects.toBeDefined();
    await until('it is gone', () => !existsSync(disk));
  });

  it('bound their monitors by cgroups from the first instruction', async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id, { memory_mb: 128 }), soon());
    const own = readFileSync(`/proc/${pid(`${id}.1`)}/cgroup`, 'utf8').split('\n');
    const inside = own.filter((line) => line.endsWith(`/svc-${basename(place.runs)}-${id}.1`));
    const { cgroups } = JSON.parse(readFileSync(join(place.runs, `${id}.1`, 'runtime.json'), 'utf8'));
    expect(inside).toHaveLength(cgroups.length);
    const limits = (cgroups as string[]).flatMap((folder) =>
      ['memory.limit_in_bytes', 'memory.max', 'pids.max', 'cpu.cfs_quota_us', 'cpu.max'].flatMap((name) =>
        existsSync(join(folder, name)) ? [readFileSync(join(folder, name), 'utf8').trim()] : [],
      ),
    );
    // Version 2 says a quota with its period.
    expect(limits.map((value) => value.split(' ')[0]).sort()).toEqual(['200000', '256', '503316480']);
    const { isolation } = provider.describe();
    expect([isolation.memory, isolation.cpu]).toEqual([
      expect.stringContaining('by cgroup'),
      expect.stringContaining('quota'),
    ]);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(machineRemains(place, id)).toEqual([]);
  });

  it('do not host pools', async () => {
    expect(provider.hostsPools ?? false).toBe(false);
    const pool = runtimeSpec(freshId(), { role: 'pool' });
    await expect(provider.create(pool, soon())).rejects.toMatchObject({ code: 'not_implemented' });
  });
});
