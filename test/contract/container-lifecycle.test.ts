// Containers of a real engine under each runtime: the contract of every provider, and what containers add to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import type { Reading } from '../../src/providers/reading.ts';
import { bundleOf } from '../support/child.ts';
import { type BehindWorker, behindWorker } from '../support/hosts/behind-worker.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith, type Need } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { BEHIND_WORKER, type Promises, type ProviderGround, providerContract } from './provider.suite.ts';

for (const runtime of ['runc', 'runsc'] as const) {
  const needs: Need[] = ['root', 'docker', ...(runtime === 'runsc' ? (['runsc'] as const) : [])];
  describeWith(needs, `containers of ${runtime}`, () => {
    let engine: SharedEngine;
    let place: ContainerHome;
    let provider: Provider;
    const others: Provider[] = [];
    const other: typeof place.provider = (...of) => {
      others.push(place.provider(...of));
      return others.at(-1) as Provider;
    };
    const ours = () => engine.api.containers(`svc.instance=${place.instance.id}`);

    beforeAll(async () => {
      engine = await sharedEngine();
      place = containerHome(engine.socket);
      provider = place.provider({ runtime });
    }, 120_000);
    afterAll(async () => {
      for (const one of others) await one.close();
      await provider.close();
      await provider.close();
      expect(await ours()).toEqual([]);
    });

    const promises: Promises = {
      moments: [0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600],
      outlasts: true,
      watches: true,
      // The engine of the tests has process numbers of its own, as one elsewhere has.
      measures: 'engine',
      separatesNetworks: true,
      // gVisor is one process to the kernel that ends it.
      memory: runtime === 'runsc' ? 'the program or its sandbox' : 'the program',
    };
    const ground = (): ProviderGround => ({
      provider,
      restarted: () => other({ runtime }),
      stranger: () => {
        const { id, key } = place.instance;
        return other({ runtime }, { id: `ffff${id.slice(4)}`, key });
      },
      spec: containerSpec,
      left: async (ids) =>
        (await ours()).map((one) => JSON.stringify(one)).filter((one) => ids.some((id) => one.includes(id))),
      kill: async (name) => void (await engine.api.call('POST', `/containers/${name}/kill`)),
      freeze: async (name) => void (await engine.api.call('POST', `/containers/${name}/pause`)),
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

    it('are measured by their cgroups where the engine is on this host', async () => {
      const id = freshId();
      await provider.create(containerSpec(id), soon());
      const bundle = await bundleOf('hosts/container-usage.child.ts');
      const inside = ['-t', String(engine.init), '--pid', '--mount', process.execPath, bundle];
      const { id: instance, key } = place.instance;
      const reader = spawn('nsenter', [...inside, engine.socket, instance, key, id], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const lines = createInterface({ input: reader.stdout })[Symbol.asyncIterator]();
      const next = async () => JSON.parse((await lines.next()).value) as Reading;
      const first = await next();
      expect(first).toMatchObject({ source: 'host', oom_kills: 0, tx_bytes: expect.any(Number) });
      for (const value of [first.memory_bytes, first.peak_memory_bytes, first.processes, first.cpu_us])
        expect(value).toBeGreaterThan(0);
      const session = await provider.attach({ id, epoch: 1 }, soon());
      await runInside(session, ['/bin/sh', '-c', 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done']);
      reader.stdin.write('\n');
      const second = await next();
      expect(second.counter).toBe(first.counter);
      expect(second.cpu_us).toBeGreaterThan((first.cpu_us ?? 0) + 1000);
      await provider.destroy({ id, epoch: 1 }, soon());
      reader.stdin.write('\n');
      expect(await next()).toBeNull();
      reader.stdin.end();
      await once(reader, 'exit');
    });

    it('all have the host name sandbox, and name their image', async () => {
      const id = freshId();
      const made = await provider.create(containerSpec(id), soon());
      expect(made).toMatchObject({ image: 'svc-test/busybox:latest', warnings: [] });
      const io = await provider.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['hostname'])).stdout).toBe('sandbox\n');
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('run for every server as soon as they are created', async () => {
      for (let n = 0; n < 5; n += 1) {
        const id = freshId();
        const { runtime_id } = await provider.create(containerSpec(id), soon());
        expect(
          (await engine.api.call<{ body: unknown }>('GET', `/containers/${runtime_id}/json`)).body,
        ).toMatchObject({
          State: { Status: 'running' },
        });
        await provider.destroy({ id, epoch: 1 }, soon());
      }
    });

    it('end by themselves, and by the engine where their agent does not answer', async () => {
      const since = Date.now() / 1000;
      const codes: unknown[] = [];
      // gVisor takes ten seconds for the second one.
      for (const isPaused of runtime === 'runsc' ? [false] : [false, true]) {
        const id = freshId();
        const { runtime_id } = await provider.create(containerSpec(id), soon());
        const io = await provider.attach({ id, epoch: 1 }, soon());
        if (isPaused) await engine.api.call('POST', `/containers/${runtime_id}/pause`);
        await io.endInside?.();
        const state = () => provider.inspect({ id, epoch: 1 }, soon());
        if (isPaused) expect(await state()).toBe('running');
        else await until('its end', async () => (await state()) === 'stopped');
        io.close();
        await provider.destroy({ id, epoch: 1 }, soon());
        expect(await state()).toBe('gone');
        const filters = encodeURIComponent(JSON.stringify({ container: [runtime_id], event: ['die'] }));
        const path = `/events?since=${since}&until=${Date.now() / 1000 + 1}&filters=${filters}`;
        const { body } = await engine.api.call<{ Actor: { Attributes: { exitCode: string } } }>('GET', path);
        codes.push(body.Actor.Attributes.exitCode);
      }
      expect(codes).toEqual(runtime === 'runsc' ? ['0'] : ['0', '137']);
    });

    it('start after the agent volume was removed', async () => {
      const id = freshId();
      const volumes = await engine.api.call<{ Volumes: { Name: string }[] }>('GET', '/volumes');
      const [volume] = volumes.body.Volumes.filter(({ Name }) => Name.startsWith('svc-agent-'));
      expect((await engine.api.call('DELETE', `/volumes/${volume?.Name}`)).status).toBe(204);
      await provider.create(containerSpec(id), soon());
      const io = await provider.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
      await provider.destroy({ id, epoch: 1 }, soon());
    });
  });
}
