// Containers of a real engine under each runtime: the contract of every provider, and what containers add to it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { type BehindWorker, behindWorker } from '../support/hosts/behind-worker.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith, type Need } from '../support/requires.ts';
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

    it('all have the host name sandbox, and name their image', async () => {
      const id = freshId();
      const made = await provider.create(containerSpec(id), soon());
      expect(made).toMatchObject({ image: 'svc-test/busybox:latest', warnings: [] });
      const io = await provider.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['hostname'])).stdout).toBe('sandbox\n');
      await provider.destroy({ id, epoch: 1 }, soon());
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
