// What a guest learns of its neighbours over the engine's DNS: no id, since who knows one opens its public previews. And
// containers that an earlier version named after their sandbox.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider, RuntimeEvent } from '../../src/providers/provider.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

describeWith(['root', 'docker'], 'the names of containers', () => {
  let engine: SharedEngine;
  let place: ContainerHome;
  let provider: Provider;

  beforeAll(async () => {
    engine = await sharedEngine();
    place = containerHome(engine.socket);
    provider = place.provider();
  }, 120_000);
  afterAll(async () => {
    await provider.close();
    expect(await engine.api.containers(`svc.instance=${place.instance.id}`)).toEqual([]);
  });

  async function made() {
    const id = freshId();
    const { runtime_id } = await provider.create(containerSpec(id), soon());
    return { id, epoch: 1, runtime_id };
  }

  it('reveal no id to a neighbour on the network', async () => {
    const [victim, curious] = await Promise.all([made(), made()]);
    const io = await provider.attach(curious, soon());
    const sh = async (command: string) => (await runInside(io, ['sh', '-c', command])).stdout;
    const path = `/containers/${victim.runtime_id}/json`;
    const { body } = await engine.api.call<{
      NetworkSettings: { Networks: { svc: { IPAddress: string; Aliases: string[] | null } } };
    }>('GET', path);
    const { IPAddress, Aliases } = body.NetworkSettings.Networks.svc;
    const reverse = await sh(`timeout 5 nslookup ${IPAddress} 127.0.0.11`);
    expect(reverse).toContain(`${victim.runtime_id}.svc`);
    expect(reverse).not.toContain(victim.id);
    expect(`${Aliases}`).not.toContain(victim.id);
    // Its own, too: newer engines resolve host names.
    expect(await sh('hostname; cat /etc/hosts')).not.toContain(curious.id);
    expect(
      await sh(`timeout 3 nslookup ${victim.id} 127.0.0.11; timeout 3 nslookup ${victim.id}.svc 127.0.0.11`),
    ).not.toContain(IPAddress);
    io.close();
    await Promise.all([victim, curious].map((ref) => provider.destroy(ref, soon())));
  });

  it('of an earlier version are found by the row, or by the labels without a row', async () => {
    const ended: RuntimeEvent[] = [];
    const stop = new AbortController();
    const watching = provider.watch?.((event) => ended.push(event), stop.signal);
    for (const withRow of [true, false]) {
      const { id, epoch, runtime_id } = await made();
      const old = `svc-${place.instance.id.replaceAll('-', '').slice(0, 12)}-${id}.${epoch}`;
      expect((await engine.api.call('POST', `/containers/${runtime_id}/rename?name=${old}`)).status).toBe(
        204,
      );
      const server = place.provider();
      const ref = { id, epoch, ...(withRow && { runtime_id: old }) };
      expect(await server.list(soon())).toEqual([expect.objectContaining({ id, epoch, runtime_id: old })]);
      expect(await server.inspect(ref, soon())).toBe('running');
      const io = await server.attach(ref, soon());
      expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
      io.close();
      await server.destroy(ref, soon());
      expect(await server.inspect(ref, soon())).toBe('gone');
      await until('its end is heard', () => ended.some((event) => event.runtime_id === old));
      await server.close();
    }
    stop.abort();
    await watching;
  });
});
