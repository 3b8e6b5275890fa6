// A real engine whose answers get lost: it has done what was asked, and nobody knows. Never two containers, never a lost one.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { Provider, RuntimeEvent } from '../../src/providers/provider.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/container.ts';
import { type LossyEngine, lossyEngine } from '../support/lossy-engine.ts';
import { describeWith } from '../support/requires.ts';
import { type SharedEngine, sharedEngine } from '../support/shared-engine.ts';
import { until } from '../support/until.ts';
import { freshId, runInside, soon } from '../support/userspace.ts';

const CREATE = 'POST /containers/create';

describeWith(['root', 'docker'], 'an engine whose answers get lost', () => {
  let engine: SharedEngine;
  let lossy: LossyEngine;
  let home: ContainerHome;
  let provider: Provider;
  const containers = () => engine.api.containers(`svc.instance=${home.instance.id}`);
  beforeAll(async () => {
    engine = await sharedEngine();
  }, 120_000);
  beforeEach(async () => {
    lossy = await lossyEngine(engine.socket);
    home = containerHome(lossy.socket);
    provider = home.provider();
    return () => provider.close();
  });

  it('the answer to a create: the container is found by its name and taken', async () => {
    const id = freshId();
    lossy.lose(CREATE, 1);
    await provider.create(containerSpec(id), soon());
    expect(await containers()).toMatchObject([{ State: 'running', Labels: { 'svc.id': id } }]);
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect(await runInside(io, ['hostname'])).toMatchObject({ stdout: `${id}\n` });
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it.each([
    ['both answers to a create', CREATE, 2],
    ['the answer to a start', 'start', 1],
  ])('%s: the spawn fails, and takes away what it made', async (_name, call, times) => {
    const spec = containerSpec(freshId());
    const name = `svc-${home.instance.id.replaceAll('-', '').slice(0, 12)}-${spec.id}.1`;
    lossy.lose(call === 'start' ? `POST /containers/${name}/start` : call, times);
    await expect(provider.create(spec, soon())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await containers()).toEqual([]);
  });

  it('the answer to a destroy: asking again finds it done', async () => {
    const id = freshId();
    const { runtime_id } = await provider.create(containerSpec(id), soon());
    lossy.lose(`DELETE /containers/${runtime_id}`, 1);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it('its news: the watch ends, what happened meanwhile is seen by looking, and a new watch tells on', async () => {
    const id = freshId();
    const heard: RuntimeEvent[] = [];
    const { runtime_id } = await provider.create(containerSpec(id), soon());
    const stop = new AbortController();
    const listen = async () => {
      const listening = provider.watch?.((event) => void heard.push(event), stop.signal);
      await until('the watch is open', () => lossy.open('GET /events') > 0);
      return { listening };
    };
    const first = await listen();
    lossy.cut('GET /events');
    await expect(first.listening).rejects.toMatchObject({ code: 'unavailable' });
    await engine.api.call('POST', `/containers/${runtime_id}/kill`);
    expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('stopped');
    const second = await listen();
    await provider.destroy({ id, epoch: 1 }, soon());
    await until('its removal is told', () => heard.length > 0);
    stop.abort();
    await second.listening;
    expect(heard).toEqual([{ runtime_id, id, epoch: 1, what: 'removed' }]);
  });
});
