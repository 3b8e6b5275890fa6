// The images of sandboxes on a real engine: what becomes of a spawn whose image goes away under it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type LossyEngine, lossyEngine } from '../support/scripted/lossy-engine.ts';

const IMAGE = 'svc-test/short-lived:1';

describeWith(['root', 'docker'], 'the image of a container', () => {
  let engine: SharedEngine;
  let home: ContainerHome;

  beforeAll(async () => {
    engine = await sharedEngine();
  }, 120_000);
  afterAll(async () => {
    expect(await engine.api.containers(`svc.instance=${home.instance.id}`)).toEqual([]);
  });

  /** An image of its own id: another command. */
  async function make(): Promise<void> {
    const body = { Image: IMAGES.busybox, Cmd: ['sh'] };
    const made = await engine.api.call<{ Id: string }>('POST', '/containers/create', body);
    const path = `/commit?container=${made.body.Id}&repo=svc-test/short-lived&tag=1`;
    expect((await engine.api.call('POST', path, { Cmd: [freshId()] })).status).toBe(201);
    await engine.api.call('DELETE', `/containers/${made.body.Id}?v=1`);
  }

  /** A spawn that has looked its image up, and is about to create. */
  async function begun(lossy: LossyEngine, id: string) {
    const provider = home.provider({ pull: 'never' });
    const creating = lossy.delay('POST /containers/create?name=svc-');
    const created = provider
      .create(containerSpec(id, { image: IMAGE }), soon())
      .finally(() => provider.close());
    // What a test awaits first may be something else.
    created.catch(() => undefined);
    await creating.made;
    return { creating, created };
  }

  it('removed during a spawn: the error says that the spawn can be repeated', async () => {
    const lossy = await lossyEngine(engine.socket);
    home = containerHome(lossy.socket);
    // The agent's volume comes with the first one.
    const first = home.provider();
    await first.create(containerSpec('sb-first'), soon());
    await first.destroy({ id: 'sb-first', epoch: 1 }, soon());
    await first.close();
    await make();
    const { creating, created } = await begun(lossy, freshId());
    expect((await engine.api.call('DELETE', `/images/${IMAGE}`)).status).toBe(200);
    await creating.hear();
    await expect(created).rejects.toMatchObject({
      ...{ code: 'unavailable', status: 503 },
      message: expect.stringMatching(/image was removed/),
    });
  });

  it('replaced during a spawn: the sandbox gets the planned image, or the spawn is planned again', async () => {
    const lossy = await lossyEngine(engine.socket);
    home = containerHome(lossy.socket);
    await make();
    const id = freshId();
    const { creating, created } = await begun(lossy, id);
    expect((await engine.api.call('DELETE', `/images/${IMAGE}`)).status).toBe(200);
    await make();
    await creating.hear();
    expect(await created).toMatchObject({ image: IMAGE });
    const provider = home.provider();
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
    await provider.destroy({ id, epoch: 1 }, soon());
    await provider.close();
    await engine.api.call('DELETE', `/images/${IMAGE}`);
  });
});
