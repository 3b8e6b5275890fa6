// Links into containers and the engine: one that maps users, that is killed and starts again, that is frozen, or that has another
// file system than the server.
import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordingLogger } from '../support/fakes/ports.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { type Engine, IMAGES, imageTar, startEngine } from '../support/hosts/engine.ts';
import { LINKED, linksOf, mountsOf, OFF, said, worldOf } from '../support/hosts/linked-containers.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

describeWith(['root', 'docker'], 'a link and its engine', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await startEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  it('goes on while the engine is frozen, and falls back where the engine has another file system', async () => {
    const world = worldOf(engine);
    const [id, other] = [freshId(), freshId()];
    await world.provider.create(containerSpec(id, { network: 'none' }), soon());
    const io = await world.provider.attach({ id, epoch: 1 }, soon());
    await engine.freeze();
    expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
    engine.thaw();
    io.close();
    // What the server makes there is not seen by the engine from now on.
    execFileSync('nsenter', [
      '--target',
      `${engine.init}`,
      '--mount',
      'mount',
      '-t',
      'tmpfs',
      'none',
      '/run/svc',
    ]);
    await world.provider.create(containerSpec(other, { network: 'none' }), soon());
    const over = await world.provider.attach({ id: other, epoch: 1 }, soon());
    expect((await runInside(over, ['echo', 'up'])).stdout).toBe('up\n');
    expect(await mountsOf(engine, other)).not.toContain('/.svc-link');
    expect(said(world, OFF)).toBe(1);
    for (const one of [id, other]) await world.provider.destroy({ id: one, epoch: 1 }, soon());
    await world.provider.close();
  });
});

/** Spawns a sandbox, reaches it by a link, and once more as a server that has started again does. */
async function linked(
  engine: Pick<Engine, 'socket' | 'api'>,
  config: Parameters<ContainerHome['provider']>[0],
): Promise<string> {
  const place = containerHome(engine.socket);
  const id = freshId();
  let whoami = '';
  for (const isFirst of [true, false]) {
    const logger = recordingLogger();
    const provider = place.provider({ link: 'auto', ...config }, place.instance, logger);
    if (isFirst) await provider.create(containerSpec(id, { network: 'none' }), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    whoami = (await runInside(io, ['sh', '-c', 'id -u; grep -c . /proc/self/uid_map; ls -A /.svc-link']))
      .stdout;
    expect(said({ place, provider, logger }, LINKED)).toBe(1);
    io.close();
    if (!isFirst) await provider.destroy({ id, epoch: 1 }, soon());
    await provider.close();
  }
  return whoami;
}

describeWith(['root', 'docker'], 'a link into a container that is not root of the host', () => {
  it('works for an ordinary user on a root that is read-only', async () => {
    const config = { user: '4321:4321', read_only_rootfs: true };
    expect(await linked(await sharedEngine(), config)).toBe('4321\n1\n');
  }, 120_000);

  it('works where the engine maps users', async () => {
    const engine = await startEngine();
    const inside = (...words: string[]) =>
      execFileSync('nsenter', ['--target', `${engine.init}`, '--mount', ...words]);
    try {
      const [ids, settings] = [join(engine.folder, 'ids'), join(engine.folder, 'daemon.json')];
      writeFileSync(ids, 'nobody:300000:65536\n');
      for (const file of ['/etc/subuid', '/etc/subgid']) inside('mount', '--bind', ids, file);
      const daemon = JSON.parse(readFileSync(settings, 'utf8'));
      writeFileSync(settings, JSON.stringify({ ...daemon, 'userns-remap': 'nobody:nogroup' }));
      // The mapped root has to pass through them.
      for (const folder of [engine.folder, join(engine.folder, 'root')]) chmodSync(folder, 0o711);
      await engine.restart();
      await engine.api.importImage(IMAGES.busybox.replace(/:.*/, ''), imageTar('busybox'));
      expect(await linked(engine, {})).toBe('0\n1\n');
    } finally {
      await engine.stop();
    }
  }, 120_000);
});

describeWith(['root', 'docker'], 'a link and an engine that its containers outlive', () => {
  it('lives through a kill of the engine, and sessions come back after it', async () => {
    const engine = await startEngine({ args: ['--live-restore'] });
    try {
      const world = worldOf(engine);
      const id = freshId();
      await world.provider.create(containerSpec(id, { network: 'none' }), soon());
      const io = await world.provider.attach({ id, epoch: 1 }, soon());
      await engine.kill9();
      expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
      await engine.start();
      expect((await runInside(io, ['echo', 'still'])).stdout).toBe('still\n');
      io.close();
      const again = await world.provider.attach({ id, epoch: 1 }, soon());
      expect((await runInside(again, ['echo', 'again'])).stdout).toBe('again\n');
      expect(said(world, LINKED)).toBe(2);
      again.close();
      await world.provider.destroy({ id, epoch: 1 }, soon());
      expect(readdirSync(linksOf(world))).toEqual([]);
      await world.provider.close();
    } finally {
      await engine.stop();
    }
  }, 120_000);
});
