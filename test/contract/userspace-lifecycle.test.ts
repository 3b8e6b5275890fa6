// Runtimes of the real provider from start to end: found again after a restart, cleared from any half-made state, apart
// from those of another server.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { agents, NOTHING, remains } from '../support/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/userspace.ts';

for (const runner of ['unshare', 'bwrap', 'proot'] as const) {
  describeWith(['root', runner], `runtimes of ${runner}`, () => {
    let place: UserspaceHome;
    let provider: Provider;
    let folder: string;

    beforeAll(async () => {
      place = userspaceHome();
      provider = place.provider({ runner });
      expect(await provider.probe(soon())).toMatchObject({ healthy: true });
      folder = join('/run/svc', place.instance.id.replaceAll('-', '').slice(0, 12));
    });
    afterAll(async () => {
      await provider.close();
      await provider.close();
      expect(existsSync(folder)).toBe(false);
      expect(remains({ home: place.home }, ['trial-']).processes).toEqual([]);
      place.remove();
    });

    it('says what really runs', async () => {
      const id = freshId();
      const made = await provider.create(
        runtimeSpec(id, { image: 'alpine:latest', memory_mb: 1024 }),
        soon(),
      );
      expect(made).toMatchObject({ runtime_id: `${id}.1`, image: 'host', memory_mb: 256, vcpus: 1 });
      expect(made.warnings).toHaveLength(runner === 'proot' ? 3 : 2);
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('are found and used by a restarted server, and not by another one', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const restarted = place.provider({ runner });
      expect(await restarted.list(soon())).toMatchObject([
        { runtime_id: `${id}.1`, id, epoch: 1, state: 'running' },
      ]);
      const io = await restarted.attach({ id, epoch: 1 }, soon());
      expect((await runInside(io, ['/bin/sh', '-c', 'pwd; ls /'])).stdout).toMatch(/^\/workspace\nbin\n/);
      const stranger = place.provider(
        { runner },
        { id: `ffff${place.instance.id.slice(4)}`, key: place.instance.key },
      );
      expect(await stranger.list(soon())).toEqual([]);
      expect(await stranger.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await stranger.destroy({ id, epoch: 1 }, soon());
      await stranger.close();
      await expect(provider.destroy({ id, epoch: 2 }, soon())).resolves.toBeUndefined();
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
      await provider.destroy({ id, epoch: 1 }, soon());
      await io.closed;
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
    });

    it('that died are stopped, refuse a session, and can be cleared', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const { pid } = JSON.parse(readFileSync(join(folder, `${id}.1`, 'runtime.json'), 'utf8')) as {
        pid: number;
      };
      process.kill(pid, 'SIGKILL');
      await until(
        'the runtime is seen as stopped',
        async () => (await provider.inspect({ id, epoch: 1 }, soon())) === 'stopped',
      );
      await expect(provider.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'unavailable' });
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
    });

    it('whose processes somebody has stopped are cleared all the same', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const record = readFileSync(join(folder, `${id}.1`, 'runtime.json'), 'utf8');
      const { pid, runner_pid } = JSON.parse(record) as { pid: number; runner_pid: number };
      for (const each of [pid, runner_pid]) process.kill(each, 'SIGSTOP');
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
    });

    it('are made once: a second create of the same attempt is a conflict and harms nothing', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      await expect(provider.create(runtimeSpec(id), soon())).rejects.toMatchObject({ code: 'conflict' });
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('running');
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('leave nothing when aborted at any moment', async () => {
      for (let ms = 0; ms <= 30; ms += 3) {
        const id = freshId();
        const settled = await provider.create(runtimeSpec(id), AbortSignal.timeout(ms)).then(
          () => 'made',
          () => 'aborted',
        );
        if (settled === 'made') await provider.destroy({ id, epoch: 1 }, soon());
        expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      }
      expect(await provider.list(soon())).toEqual([]);
    });

    it('are cleared from what a crash or a reboot left', async () => {
      const [bare, rebooted] = [freshId(), freshId()];
      mkdirSync(join(folder, `${bare}.1`));
      expect(await provider.list(soon())).toMatchObject([{ id: bare, state: 'stopped' }]);
      await provider.destroy({ id: bare, epoch: 1 }, soon());
      await provider.create(runtimeSpec(rebooted), soon());
      const record = join(folder, `${rebooted}.1`, 'runtime.json');
      const kept = readFileSync(record, 'utf8');
      writeFileSync(`${record}.x`, kept.replace(/"boot_id":"[^"]*"/, '"boot_id":"another"'));
      renameSync(`${record}.x`, record);
      expect(await provider.inspect({ id: rebooted, epoch: 1 }, soon())).toBe('stopped');
      writeFileSync(record, kept);
      await provider.destroy({ id: rebooted, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [bare, rebooted])).toEqual(NOTHING);
    });

    it('of a trial cut short are listed by none, and cleared by the next server when it first lists', async () => {
      const [id, bare] = ['trial-00bb', join(folder, 'trial-00aa.0')];
      await provider.create(runtimeSpec(id, { epoch: 0 }), soon());
      mkdirSync(bare);
      expect(await provider.list(soon())).toEqual([]);
      expect(remains({ home: place.home }, [id]).processes).toHaveLength(1);
      expect(await place.provider({ runner }).list(soon())).toEqual([]);
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      expect(existsSync(bare)).toBe(false);
    });

    it('of a trial that a stop cuts short are gone with it', async () => {
      const own = userspaceHome();
      const brief = own.provider({ runner });
      const probing = brief.probe(soon());
      await brief.close();
      await probing;
      const instance = own.instance.id.replaceAll('-', '').slice(0, 12);
      expect(existsSync(join('/run/svc', instance))).toBe(false);
      expect(agents([own.home, instance])).toEqual([]);
      own.remove();
    });

    it('never kill a process that has a number of theirs by chance', async () => {
      const id = freshId();
      await provider.create(runtimeSpec(id), soon());
      const record = join(folder, `${id}.1`, 'runtime.json');
      const kept = readFileSync(record, 'utf8');
      // This process, with a start time that is not its own.
      writeFileSync(record, kept.replace(/"pid":\d+/, `"pid":${process.pid}`));
      expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('stopped');
      writeFileSync(record, kept);
      await provider.destroy({ id, epoch: 1 }, soon());
    });

    it('keep a workspace on disk apart, and remove it however deep or closed it is', async () => {
      const onDisk = place.provider({ runner, workspace: 'disk', max_disk_mb: 8 });
      const id = freshId();
      await onDisk.create(runtimeSpec(id), soon());
      const path = join(place.home, 'workspaces', `${id}.1`);
      expect(existsSync(path)).toBe(true);
      const io = await onDisk.attach({ id, epoch: 1 }, soon());
      // proot rewrites no path that is longer than a path can be.
      const levels = runner === 'proot' ? 100 : 900;
      const deep = `i=0; while [ $i -lt ${levels} ]; do mkdir deeper && cd -P deeper || exit 1; i=$((i+1)); done; mkdir closed; chmod 0 closed`;
      expect(await runInside(io, ['/bin/sh', '-c', deep])).toMatchObject({ exit_code: 0 });
      const tooBig = await runInside(io, ['/bin/sh', '-c', 'head -c 9000000 /dev/zero > big']);
      expect(tooBig.exit_code).not.toBe(0);
      await onDisk.destroy({ id, epoch: 1 }, soon());
      expect(existsSync(path)).toBe(false);
    });
  });
}
