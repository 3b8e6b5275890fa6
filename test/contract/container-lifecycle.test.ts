// Containers of a real engine from start to end, under each runtime: found again after a restart, made once, gone when
// they are said to be, apart from those of another server.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider, RuntimeEvent } from '../../src/providers/provider.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/container.ts';
import { describeWith, type Need } from '../support/requires.ts';
import { type SharedEngine, sharedEngine } from '../support/shared-engine.ts';
import { until } from '../support/until.ts';
import { freshId, runInside, soon } from '../support/userspace.ts';

for (const runtime of ['runc', 'runsc'] as const) {
  const needs: Need[] = ['root', 'docker', ...(runtime === 'runsc' ? (['runsc'] as const) : [])];
  describeWith(needs, `containers of ${runtime}`, () => {
    let engine: SharedEngine;
    let place: ContainerHome;
    let provider: Provider;
    const ours = () => engine.api.containers(`svc.instance=${place.instance.id}`);

    beforeAll(async () => {
      engine = await sharedEngine();
      place = containerHome(engine.socket);
      provider = place.provider({ runtime });
      expect(await provider.probe(soon())).toMatchObject({ healthy: true });
    }, 120_000);
    afterAll(async () => {
      await provider.close();
      await provider.close();
      expect(await ours()).toEqual([]);
    });

    it('do what is asked, and say what runs', async () => {
      const id = freshId();
      const made = await provider.create(containerSpec(id, { vcpus: 1 }), soon());
      expect(made).toMatchObject({
        image: 'svc-test/busybox:latest',
        memory_mb: 128,
        vcpus: 1,
        warnings: [],
      });
      const io = await provider.attach({ id, epoch: 1 }, soon());
      expect(await runInside(io, ['hostname'])).toMatchObject({ stdout: `${id}\n`, exit_code: 0 });
      expect(await runInside(io, ['pwd'])).toMatchObject({ stdout: '/workspace\n' });
      const bytes = Buffer.alloc(1 << 20, 'x');
      await io.files.write('/workspace/a/b', bytes, {});
      expect((await runInside(io, ['wc', '-c', '/workspace/a/b'])).stdout).toMatch(/^1048576/);
      await provider.destroy({ id, epoch: 1 }, soon());
      await io.closed;
    });

    it('are found and used by a restarted server, and not by another one', async () => {
      const id = freshId();
      await provider.create(containerSpec(id), soon());
      const restarted = place.provider({ runtime });
      expect(await restarted.list(soon())).toMatchObject([{ id, epoch: 1, state: 'running' }]);
      const io = await restarted.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['hostname'])).stdout).toBe(`${id}\n`);
      // What a dead server left in the stream does not confuse the next one.
      io.close();
      const again = await restarted.attach({ id, epoch: 1 }, soon());
      expect((await runInside(again, ['echo', 'there'])).stdout).toBe('there\n');
      const stranger = place.provider(
        { runtime },
        { id: `ffff${place.instance.id.slice(4)}`, key: place.instance.key },
      );
      expect(await stranger.list(soon())).toEqual([]);
      expect(await stranger.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await stranger.destroy({ id, epoch: 1 }, soon());
      await stranger.close();
      await provider.destroy({ id, epoch: 2 }, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
      await provider.destroy({ id, epoch: 1 }, soon());
      await again.closed;
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await provider.destroy({ id, epoch: 1 }, soon());
      await restarted.close();
    });

    it('are made once: a second create of the same attempt is a conflict and harms nothing', async () => {
      const id = freshId();
      await provider.create(containerSpec(id), soon());
      await expect(provider.create(containerSpec(id), soon())).rejects.toMatchObject({ code: 'conflict' });
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('that died are told of, stopped, refuse a session, and can be cleared', async () => {
      const id = freshId();
      const heard: RuntimeEvent[] = [];
      const stop = new AbortController();
      const watching = provider.watch?.((event) => void heard.push(event), stop.signal);
      const { runtime_id } = await provider.create(containerSpec(id), soon());
      await engine.api.call('POST', `/containers/${runtime_id}/kill`);
      await until('the end is told', () => heard.some((event) => event.id === id && event.what === 'ended'));
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('stopped');
      await expect(provider.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'unavailable' });
      await provider.destroy({ id, epoch: 1 }, soon());
      await until('the removal is told', () => heard.some(({ what }) => what === 'removed'));
      expect(heard[0]).toEqual({ runtime_id, id, epoch: 1, what: 'ended' });
      stop.abort();
      await watching;
    });

    it('that somebody has paused are cleared all the same', async () => {
      const id = freshId();
      const { runtime_id } = await provider.create(containerSpec(id), soon());
      await engine.api.call('POST', `/containers/${runtime_id}/pause`);
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
    });

    it('leave nothing when aborted at any moment', async () => {
      for (let ms = 0; ms <= 600; ms += 60) {
        const id = freshId();
        const settled = await provider.create(containerSpec(id), AbortSignal.timeout(ms)).then(
          () => 'made',
          () => 'aborted',
        );
        // An engine that is in the middle of making it may outlast the second that a create has; the label finds it.
        expect(['made', 'aborted']).toContain(settled);
        await provider.destroy({ id, epoch: 1 }, soon());
      }
      // One that the engine finished after its destroy is found by its label, as the comparison does it.
      await until('all is gone', async () => {
        for (const late of await provider.list(soon())) await provider.destroy(late, soon());
        return (await ours()).length === 0;
      });
    });

    it('come up again when the agent volume was taken away', async () => {
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
