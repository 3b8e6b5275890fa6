// What an image declares as VOLUME: memory with a bound, or nothing to write on; never a volume of the engine, whose room
// nobody bounds.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { RuntimeSpec } from '../../src/providers/provider.ts';
import type { ContainerConfig } from '../../src/schema/config-container.ts';
import { type ContainerHome, containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

for (const runtime of ['runc', 'runsc'] as const) {
  describeWith(
    ['root', 'docker', runtime === 'runsc' ? 'runsc' : 'docker'],
    `volumes under ${runtime}`,
    () => {
      let engine: SharedEngine;
      let place: ContainerHome;
      const volumes = async () => {
        const { body } = await engine.api.call<{ Volumes: { Name: string }[] | null }>('GET', '/volumes');
        return (body.Volumes ?? []).map(({ Name }) => Name).filter((name) => !name.startsWith('svc-agent-'));
      };

      beforeAll(async () => {
        engine = await sharedEngine();
        place = containerHome(engine.socket);
      }, 120_000);
      afterEach(async () => expect(await volumes()).toEqual([]));
      afterAll(async () => {
        expect(await engine.api.containers(`svc.instance=${place.instance.id}`)).toEqual([]);
      });

      /** An image like busybox's that declares `paths`. */
      async function imageWith(...paths: string[]): Promise<string> {
        const { body } = await engine.api.call<{ Id: string }>('POST', '/containers/create', {
          ...{ Image: IMAGES.busybox, Cmd: ['sh'] },
        });
        const query = new URLSearchParams({ container: body.Id, repo: `svc-test/${freshId()}`, tag: '1' });
        const made = await engine.api.call('POST', `/commit?${query}`, {
          Volumes: Object.fromEntries(paths.map((path) => [path, {}])),
        });
        expect(made.status).toBe(201);
        await engine.api.call('DELETE', `/containers/${body.Id}?v=1`);
        return `${query.get('repo')}:1`;
      }

      async function inSandbox(
        use: (io: SandboxIo, warnings: string[], runtime_id: string) => Promise<void>,
        config: Partial<ContainerConfig>,
        spec: Partial<RuntimeSpec>,
      ): Promise<void> {
        const provider = place.provider({ runtime, ...config });
        const id = freshId();
        const { runtime_id, warnings } = await provider.create(containerSpec(id, spec), soon());
        try {
          await use(await provider.attach({ id, epoch: 1 }, soon()), warnings, runtime_id);
        } finally {
          await provider.destroy({ id, epoch: 1 }, soon());
          await provider.close();
        }
      }

      it('are in memory of bounded size, never on the disk of the engine', async () => {
        const image = await imageWith('/data', '/srv/more/');
        await inSandbox(
          async (io, warnings, runtime_id) => {
            expect(await volumes()).toEqual([]);
            expect(warnings).toEqual([expect.stringMatching(/\/data, \/srv\/more.* memory/)]);
            const full = await runInside(io, ['dd', 'if=/dev/zero', 'of=/data/full', 'bs=1M', 'count=40']);
            expect(full).toMatchObject({ exit_code: 1, stderr: expect.stringContaining('No space') });
            expect((await runInside(io, ['touch', '/srv/more/x'])).exit_code).toBe(0);
            await engine.api.call('POST', `/containers/${runtime_id}/kill`);
          },
          {},
          { image, memory_mb: 128 },
        );
      });

      it('cannot be written to where the root is read-only, unless configured as memory', async () => {
        const image = await imageWith('/data', '/scratch');
        await inSandbox(
          async (io) => {
            expect(await volumes()).toEqual([]);
            expect((await runInside(io, ['touch', '/data/x'])).stderr).toContain('Read-only');
            expect((await runInside(io, ['touch', '/scratch/x'])).exit_code).toBe(0);
          },
          { read_only_rootfs: true, tmpfs: ['/tmp', '/scratch'] },
          { image },
        );
      });

      // gVisor has no pools.
      if (runtime !== 'runsc')
        it('cannot be written to by tenants of a pool', async () => {
          const image = await imageWith('/data', '/workspaces');
          await inSandbox(
            async (io) => {
              expect(await volumes()).toEqual([]);
              const tenant = io.as?.({ uid: 20_301, home: '/workspaces/sb-v' });
              if (!tenant) throw new Error('no pool');
              await tenant.enter();
              expect((await runInside(tenant, ['/bin/touch', '/data/x'])).stderr).toContain('Read-only');
              expect((await runInside(tenant, ['/bin/touch', '/workspaces/sb-v/x'])).exit_code).toBe(0);
            },
            {},
            { image, role: 'pool', memory_mb: 128 },
          );
        });

      it.each(['/', '/proc', '/sys/fs', '/dev', '/.svc', '/.svc/more', 'data'])(
        'refuse an image that declares %s',
        async (path) => {
          const image = await imageWith(path);
          const created = inSandbox(async () => undefined, {}, { image });
          await expect(created).rejects.toMatchObject({
            code: 'bad_request',
            message: expect.stringContaining(image),
            remedy: expect.stringContaining('VOLUME'),
          });
        },
      );
    },
  );
}
