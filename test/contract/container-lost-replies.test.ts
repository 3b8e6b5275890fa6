// A real engine whose answers get lost: it has done what was asked, and nobody knows. Never two containers, never a lost one.
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { containerName } from '../../src/providers/container/names.ts';
import type { Provider, RuntimeEvent } from '../../src/providers/provider.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type LossyEngine, lossyEngine } from '../support/scripted/lossy-engine.ts';
import { until } from '../support/until.ts';

describeWith(['root', 'docker'], 'an engine that loses answers', () => {
  let engine: SharedEngine;
  let lossy: LossyEngine;
  let home: ContainerHome;
  let provider: Provider;
  const containers = () => engine.api.containers(`svc.instance=${home.instance.id}`);
  const creating = (id: string) => `POST /containers/create?name=${nameOf(id)}`;
  const starting = (id: string) => `POST /containers/${nameOf(id)}/start`;
  const removing = (id: string) => `DELETE /containers/${nameOf(id)}`;
  const nameOf = (id: string) => containerName(home.instance, { id, epoch: 1 });
  /** The engine gets the request to create when the caller has given up. */
  const createdTooLate = async (id: string) => {
    const late = lossy.delay(creating(id));
    const impatient = new AbortController();
    const created = provider.create(containerSpec(id), impatient.signal);
    void late.made.then(() => impatient.abort(new Error('nobody waits')));
    await expect(created).rejects.toThrow('nobody waits');
    await late.hear();
  };
  beforeAll(async () => {
    engine = await sharedEngine();
  }, 120_000);
  beforeEach(async () => {
    lossy = await lossyEngine(engine.socket);
    home = containerHome(lossy.socket);
    provider = home.provider();
    return () => provider.close();
  });

  it('the answer to a create: the provider finds the container by its name and uses it', async () => {
    const id = freshId();
    lossy.lose(creating(id), 1);
    await provider.create(containerSpec(id), soon());
    expect(await containers()).toMatchObject([{ State: 'running', Labels: { 'svc.id': id } }]);
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect(await runInside(io, ['hostname'])).toMatchObject({ stdout: 'sandbox\n' });
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it('the answer while the agent is copied: the next step finds its own container', async () => {
    const id = freshId();
    lossy.lose('POST /containers/create?name=svc-agent-', 1);
    await provider.create(containerSpec(id), soon());
    expect(await engine.api.containers(`svc.seeder=${home.instance.id}`)).toEqual([]);
    await provider.destroy({ id, epoch: 1 }, soon());
  });

  it.each([
    ['both answers to a create', (id: string) => lossy.lose(creating(id), 2)],
    ['the answer to a start', (id: string) => lossy.lose(starting(id), 1)],
    [
      'the answers to a start and to the removal after it',
      (id: string) => {
        lossy.lose(starting(id), 1);
        lossy.lose(removing(id), 1);
      },
    ],
  ])('%s: the spawn fails without leftovers', async (_name, lose) => {
    const id = freshId();
    await provider.close();
    provider = home.provider({ link: 'attach' });
    lose(id);
    await expect(provider.create(containerSpec(id), soon())).rejects.toMatchObject({ code: 'unavailable' });
    expect(await containers()).toEqual([]);
  });

  it('the answer to the start of an agent that connects by itself: nobody needs it', async () => {
    const id = freshId();
    lossy.mute(starting(id));
    await provider.create(containerSpec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect(await runInside(io, ['hostname'])).toMatchObject({ stdout: 'sandbox\n' });
    io.close();
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it('a create that arrives after the caller gave up: the container is listed under its sandbox and swept', async () => {
    const id = freshId();
    await provider.close();
    provider = home.provider({ link: 'attach' });
    await createdTooLate(id);
    expect(await provider.list(soon())).toMatchObject([{ id, epoch: 1, state: 'stopped' }]);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it('a create with a link that arrives after the caller gave up: it makes nothing', async () => {
    const id = freshId();
    await createdTooLate(id);
    expect(await provider.list(soon())).toEqual([]);
  });

  it('the answer to a destroy: a second destroy succeeds', async () => {
    const id = freshId();
    await provider.create(containerSpec(id), soon());
    lossy.lose(removing(id), 1);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await containers()).toEqual([]);
  });

  it('its events: the watch ends, a list shows the changes since, and a new watch continues', async () => {
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
