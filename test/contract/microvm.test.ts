// Runtimes in virtual machines, emulated: the contract of every provider, and what a machine of its own adds to it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { type MicrovmHome, machineProcesses, machineRemains, microvmHome } from '../support/microvm.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { freshId, runtimeSpec, soon } from '../support/userspace.ts';
import { type Promises, providerContract } from './provider.suite.ts';

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'runtimes of QEMU', () => {
  let place: MicrovmHome;
  let provider: Provider;
  const others: Provider[] = [];
  const other: typeof place.provider = (...of) => {
    others.push(place.provider(...of));
    return others.at(-1) as Provider;
  };

  beforeAll(() => {
    place = microvmHome();
    provider = place.provider();
  });
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
    separatesNetworks: true,
    memory: 'the program',
  };
  providerContract(promises, () => ({
    provider,
    restarted: () => other(),
    stranger: () => other({}, { instance: { ...place.instance, id: `ffff${place.instance.id.slice(4)}` } }),
    spec: runtimeSpec,
    left: async (ids) => ids.flatMap((id) => machineRemains(place, id)),
    kill: async (name) => void process.kill(pid(name), 'SIGKILL'),
    freeze: async (name) => void process.kill(pid(name), 'SIGSTOP'),
  }));

  it('clear disks that a reboot has left without their run folders', async () => {
    const disk = join(place.home, 'data/overlays', basename(place.runs), 'sb-before.1');
    writeFileSync(disk, 'x');
    const next = other();
    await expect(next.create(runtimeSpec(freshId()), AbortSignal.timeout(1))).rejects.toBeDefined();
    await until('it is gone', () => !existsSync(disk));
  });

  it('host no pools', async () => {
    expect(provider.hostsPools ?? false).toBe(false);
    const pool = runtimeSpec(freshId(), { role: 'pool' });
    await expect(provider.create(pool, soon())).rejects.toMatchObject({ code: 'not_implemented' });
  });
});
