// Runtimes of each runner: the contract of every provider, and what a run folder of our own adds to it.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NotStarted } from '../../src/domain/not-started.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { type BehindWorker, behindWorker } from '../support/hosts/behind-worker.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { BEHIND_WORKER, type Promises, type ProviderGround, providerContract } from './provider.suite.ts';

for (const runner of ['unshare', 'bwrap', 'proot'] as const) {
  describeWith(['root', runner], `runtimes of ${runner}`, () => {
    let place: UserspaceHome;
    let provider: Provider;
    const others: Provider[] = [];
    const other: typeof place.provider = (...of) => {
      others.push(place.provider(...of));
      return others.at(-1) as Provider;
    };
    let folder: string;

    beforeAll(async () => {
      place = userspaceHome();
      provider = place.provider({ runner });
      folder = join('/run/svc', place.instance.id.replaceAll('-', '').slice(0, 12));
    });
    afterAll(async () => {
      for (const one of others) await one.close();
      await provider.close();
      await provider.close();
      expect(existsSync(folder)).toBe(false);
      expect(remains({ home: place.home }, ['trial-']).processes).toEqual([]);
      place.remove();
    });

    const record = (runtime_id: string) =>
      JSON.parse(readFileSync(join(folder, runtime_id, 'runtime.json'), 'utf8')) as {
        pid: number;
        runner_pid: number;
      };
    const promises: Promises = {
      moments: [0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30],
      outlasts: false,
      watches: false,
      measures: runner === 'proot' ? 'host' : 'host and oom',
      separatesNetworks: runner !== 'proot',
      memory: runner === 'proot' ? 'nobody' : 'the program',
    };
    const ground = (): ProviderGround => ({
      provider,
      restarted: () => other({ runner }),
      stranger: () => {
        const { id, key } = place.instance;
        return other({ runner }, { id: `ffff${id.slice(4)}`, key });
      },
      spec: runtimeSpec,
      left: async (ids) => Object.values(remains({ home: place.home }, ids)).flat(),
      kill: async (name) => void process.kill(record(name).pid, 'SIGKILL'),
      freeze: async (name) => {
        const { pid, runner_pid } = record(name);
        for (const each of [pid, runner_pid]) process.kill(each, 'SIGSTOP');
      },
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

    it('report what really runs', async () => {
      const id = freshId();
      const made = await provider.create(
        runtimeSpec(id, { image: 'alpine:latest', memory_mb: 1024 }),
        soon(),
      );
      expect(made).toMatchObject({ runtime_id: `${id}.1`, image: 'host', memory_mb: 256, vcpus: 1 });
      expect(made.warnings).toHaveLength(runner === 'proot' ? 3 : 2);
      await provider.destroy({ id, epoch: 1 }, soon());
      const strict = provider.create(
        runtimeSpec(id, { image: 'alpine:latest', memory_mb: 1024, strict: true }),
        soon(),
      );
      await expect(strict).rejects.toMatchObject({
        name: 'ServiceError',
        code: 'precondition_failed',
        details: { unmet: made.warnings },
      });
      await expect(strict).rejects.toBeInstanceOf(NotStarted);
      expect(existsSync(join(folder, `${id}.1`))).toBe(false);
    });

    it('remove what a crash or a reboot left behind', async () => {
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

    it('of an interrupted trial are not listed, and removed by the first list of the next server', async () => {
      const [id, bare] = ['trial-00bb', join(folder, 'trial-00aa.0')];
      await provider.create(runtimeSpec(id, { epoch: 0 }), soon());
      mkdirSync(bare);
      expect(await provider.list(soon())).toEqual([]);
      expect(remains({ home: place.home }, [id]).processes).toHaveLength(1);
      expect(await place.provider({ runner }).list(soon())).toEqual([]);
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      expect(existsSync(bare)).toBe(false);
    });

    it('of a trial that a stop interrupts end with it', async () => {
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

    it('never kill a foreign process that got one of their numbers', async () => {
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

    it('keep a workspace on disk separate, and remove it however deep or protected it is', async () => {
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
