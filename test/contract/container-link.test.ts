// Sockets into containers beside the engine's streams: that sessions use them, that nothing is gained by them from inside, and that
// sandboxes work where they are not to be had.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { recordingLogger } from '../support/fakes/ports.ts';
import { containerSpec } from '../support/hosts/container.ts';
import { type Engine, IMAGES } from '../support/hosts/engine.ts';
import {
  LINKED,
  type LinkWorld,
  linkSockets,
  linksOf,
  mountsOf,
  OFF,
  said,
  shutAgentsLink,
  worldOf,
} from '../support/hosts/linked-containers.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const IMAGE_OFF = / Sandboxes of this image are reached through the engine; trying again in 10 minutes\.$/;

/** Tries all that root inside could do with the folder; prints what came of it, and all bytes that a socket gave it. */
const INTRUDER = `
import os, socket, sys, time
got, times = b'', 0
def tried(name, act):
    try:
        act()
        print(name)
    except OSError:
        pass
folder = '/.svc-link'
tried('create', lambda: open(folder + '/x', 'w'))
tried('bind', lambda: socket.socket(socket.AF_UNIX).bind(folder + '/y'))
tried('unlink', lambda: os.unlink(folder + '/s'))
tried('chmod', lambda: os.chmod(folder, 0o777))
tried('leave', lambda: os.listdir(folder + '/../.svc-link/../..' ) and os.stat(folder + '/../svc.db'))
tried('remount', lambda: os.system('mount -o remount,rw ' + folder + ' 2>/dev/null') and (_ for _ in ()).throw(OSError()))
print('watching', flush=True)
end = time.monotonic() + float(sys.argv[1])
held = []
while time.monotonic() < end:
    for kind in range(2):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(0.2)
        try:
            one.connect(folder + '/s')
            times += 1
            one.send(os.urandom(16) if kind else b'short')
            if kind == 0 and len(held) < 20:
                held.append(one)
                continue
            while True:
                more = one.recv(4096)
                if not more: break
                got += more
        except OSError:
            pass
        one.close()
for one in held:
    one.settimeout(0.1)
    try: got += one.recv(4096)
    except OSError: pass
print('reached', times > 0, 'got', len(got))
`;

function endless(): Readable {
  const bytes = async function* () {
    for (;;) {
      yield Buffer.alloc(1024);
      await pause(20);
    }
  };
  return Readable.from(bytes(), { objectMode: false });
}

for (const runtime of ['runc', 'runsc-link'] as const)
  describeWith(['root', 'docker', runtime === 'runc' ? 'docker' : 'runsc'], `a link into ${runtime}`, () => {
    const id = freshId();
    let engine: SharedEngine;
    let world: LinkWorld;
    let next: LinkWorld;
    const ref = { id, epoch: 1 };

    beforeAll(async () => {
      engine = await sharedEngine();
      world = worldOf(engine, { runtime });
      const spec = containerSpec(id, { image: IMAGES.debian, network: 'none', memory_mb: 256 });
      await world.provider.create(spec, soon());
    }, 120_000);
    afterAll(async () => {
      await world.provider.destroy(ref, soon());
      expect(readdirSync(linksOf(world))).toEqual([]);
      await world.provider.close();
      await next?.provider.close();
      expect(existsSync(join(linksOf(world), '..'))).toBe(false);
    });

    it('carries the first session, and leaves an empty folder that only the server reaches', async () => {
      const io = await world.provider.attach(ref, soon());
      expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
      expect(said(world, LINKED)).toBe(1);
      const [name = ''] = readdirSync(linksOf(world));
      expect(readdirSync(join(linksOf(world), name))).toEqual([]);
      expect(statSync(linksOf(world)).mode & 0o777).toBe(0o700);
      expect((await runInside(io, ['ls', '-A', '/.svc-link'])).stdout).toBe('');
      expect(await mountsOf(engine, id)).toContain('/.svc-link');
      io.close();
    });

    it('comes back after the server, whatever a guest does at the socket meanwhile', async () => {
      next = { ...world, logger: recordingLogger() };
      next.provider = world.place.provider({ runtime, link: 'auto' }, world.place.instance, next.logger);
      const io = await next.provider.attach(ref, soon());
      await io.files.write('/tmp/intruder.py', Buffer.from(INTRUDER), {});
      const guest = io.exec({
        ...{ exec_id: freshId(), argv: ['sh', '-c', 'python3 /tmp/intruder.py 4 >/tmp/tried 2>&1'] },
        ...{ label: 'guest', env: {}, detach: true },
      });
      await guest.exit;
      const tried = async (attached: typeof io) => (await runInside(attached, ['cat', '/tmp/tried'])).stdout;
      await until('the guest to watch', async () => (await tried(io)).includes('watching'));
      io.close();
      let links = 0;
      await until('the guest to have tried enough', async () => {
        const again = await next.provider.attach(ref, soon());
        const text = await tried(again);
        links += 1;
        again.close();
        if (!text.includes('reached')) return false;
        // Nothing above "watching": all that it tried with the folder failed.
        expect(text).toBe('watching\nreached True got 0\n');
        return true;
      });
      expect(said(next, LINKED)).toBeGreaterThan(0);
      expect(links).toBeGreaterThan(3);
      expect(readdirSync(join(linksOf(world), readdirSync(linksOf(world))[0] ?? ''))).toEqual([]);
    });

    it.each(runtime === 'runc' ? (['server', 'agent'] as const) : (['server'] as const))(
      'breaks at the side of the %s in the middle of calls: they fail, and later ones use the engine or a link',
      async (side) => {
        const linked = () => said(next, LINKED);
        const before = linked();
        const io = await next.provider.attach(ref, soon());
        expect([linked() - before, linkSockets(next).length]).toEqual([1, 1]);
        const call = { label: 'call', env: {}, detach: false };
        const run = io.exec({ ...call, exec_id: freshId(), argv: ['sleep', '60'] });
        const [exit, written] = [run.exit, io.files.write('/tmp/half', endless(), {})].map((failing) =>
          failing.then(
            () => 'success',
            (error: unknown) => (error as { code?: string }).code,
          ),
        );
        await run.started;
        if (side === 'server') linkSockets(next)[0]?.destroy();
        else shutAgentsLink(next);
        expect([await exit, await written]).toEqual(['unavailable', 'unavailable']);
        await io.closed;
        await until('the link is closed', () => linkSockets(next).length === 0);
        const folder = join(linksOf(next), readdirSync(linksOf(next))[0] ?? '');
        renameSync(folder, `${folder}-away`);
        const over = await next.provider.attach(ref, soon());
        renameSync(`${folder}-away`, folder);
        expect((await runInside(over, ['sh', '-c', 'ls -A /tmp | grep svc; echo up'])).stdout).toBe('up\n');
        expect([linked() - before, linkSockets(next).length]).toEqual([1, 0]);
        over.close();
        const again = await next.provider.attach(ref, soon());
        expect((await runInside(again, ['echo', 'up'])).stdout).toBe('up\n');
        expect([linked() - before, linkSockets(next).length]).toEqual([2, 1]);
        again.close();
        await until('the link is closed', () => linkSockets(next).length === 0);
        expect(readdirSync(folder)).toEqual([]);
      },
    );

    it('lets detached commands and their output outlive a session on either way', async () => {
      const io = await next.provider.attach(ref, soon());
      const exec_id = freshId();
      const started = io.exec({
        ...{
          exec_id,
          argv: ['sh', '-c', 'echo one; sleep 0.3; echo two'],
          label: 'later',
          env: {},
          detach: true,
        },
      });
      await started.exit;
      io.close();
      const again = await next.provider.attach(ref, soon());
      const view = await again.execs.attach(exec_id, true);
      let text = '';
      for await (const { data } of view.output) text += data.toString();
      expect(text).toBe('one\ntwo\n');
      again.close();
    });
  });

describeWith(['root', 'docker', 'runsc'], 'where no link can be had', () => {
  let engine: SharedEngine;
  const spec = (id: string) => containerSpec(id, { network: 'none' });
  beforeAll(async () => {
    engine = await sharedEngine();
  }, 120_000);

  /** Spawns a sandbox, uses it and destroys it; the mounts that it had. */
  async function used({ provider }: LinkWorld, api: Pick<Engine, 'api'> = engine): Promise<string[]> {
    const id = freshId();
    await provider.create(spec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
    const mounts = await mountsOf(api, id);
    await provider.destroy({ id, epoch: 1 }, soon());
    return mounts;
  }

  it('mounts nothing when the configuration says so', async () => {
    const world = worldOf(engine, { link: 'attach' });
    expect(await used(world)).not.toContain('/.svc-link');
    expect(said(world, LINKED)).toBe(0);
    expect(existsSync(linksOf(world))).toBe(false);
    await world.provider.close();
  });

  it('is found out by one sandbox under a runtime that permits no sockets', async () => {
    const world = worldOf(engine, { runtime: 'runsc' });
    expect(await used(world)).toContain('/.svc-link');
    expect(await used(world)).not.toContain('/.svc-link');
    expect([said(world, LINKED), said(world, IMAGE_OFF), said(world, OFF)]).toEqual([0, 1, 0]);
    await world.provider.close();
  });

  it.each<[string, TarPart]>([
    ['a file', { name: '.svc-link', content: 'planted' }],
    ['a link in a circle', { name: '.svc-link', type: '2', link: '/.svc-link' }],
  ])('is not tried with an image that has %s in its place, and goes on with others', async (_, planted) => {
    const tar = join(temporaryFolder(), 'planted.tar');
    const content = tarArchive(
      { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
      { name: 'bin/echo', type: '2', link: 'busybox' },
      planted,
    );
    writeFileSync(tar, content);
    await engine.api.importImage('svc-test/planted', tar);
    const world = worldOf(engine);
    for (let spawn = 0; spawn < 2; spawn++) {
      const id = freshId();
      await world.provider.create(
        containerSpec(id, { image: 'svc-test/planted:latest', network: 'none' }),
        soon(),
      );
      const io = await world.provider.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['echo', 'up'])).stdout).toBe('up\n');
      expect(await mountsOf(engine, id)).not.toContain('/.svc-link');
      await world.provider.destroy({ id, epoch: 1 }, soon());
    }
    expect([said(world, LINKED), said(world, IMAGE_OFF), said(world, OFF)]).toEqual([0, 1, 0]);
    expect(await used(world)).toContain('/.svc-link');
    expect(said(world, LINKED)).toBe(1);
    expect(readdirSync(linksOf(world))).toEqual([]);
    await world.provider.close();
    await engine.api.call('DELETE', '/images/svc-test/planted:latest');
  });

  it('is had again after somebody removed the run folder', async () => {
    const world = worldOf(engine);
    expect(await used(world)).toContain('/.svc-link');
    rmSync(join(linksOf(world), '..'), { recursive: true });
    expect(await used(world)).toContain('/.svc-link');
    expect([said(world, LINKED), statSync(linksOf(world)).mode & 0o777]).toEqual([2, 0o700]);
    await world.provider.close();
  });

  it('removes what containers left that are gone, and nothing else', async () => {
    const world = worldOf(engine);
    const id = freshId();
    await world.provider.create(spec(id), soon());
    const [kept] = readdirSync(linksOf(world));
    for (const [name, age] of [
      ['svc-old', 3600],
      ['svc-new', 0],
    ] as const) {
      mkdirSync(join(linksOf(world), name));
      utimesSync(join(linksOf(world), name), Date.now() / 1000 - age, Date.now() / 1000 - age);
    }
    utimesSync(join(linksOf(world), kept ?? ''), 0, 0);
    await world.provider.list(soon());
    expect(readdirSync(linksOf(world)).sort()).toEqual([kept, 'svc-new'].sort());
    await world.provider.destroy({ id, epoch: 1 }, soon());
    rmSync(join(linksOf(world), 'svc-new'), { recursive: true });
    await world.provider.close();
    expect(existsSync(join(linksOf(world), '..'))).toBe(false);
  });
});
