// Two real workers with different images: a spawn goes to the one that has its image.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { ociFiles } from '../support/hosts/image-archives.ts';
import { plainRegistryOfTest } from '../support/hosts/plain-registry.ts';
import { describeWith } from '../support/requires.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const SECRET = { SVC_AUTH_WORKER_TOKEN: 'a secret of one afternoon, no more' };

describeWith(['bwrap', 'busybox'], 'a spawn of an image', () => {
  let server: TestServer;
  let client: Client;
  const workers: ChildProcess[] = [];

  const startWorker = (id: string, images: object, more: Record<string, string> = {}) => {
    const options = ['--id', id, '--control-plane', server.url, '--heartbeat-interval', '1s'];
    const home = join(server.home, id);
    const own = { HOME: home, SVC_DATABASE_PATH: join(home, 'w.db') };
    const given = { SVC_PROVIDERS_USERSPACE_IMAGES: JSON.stringify(images) };
    const env = { PATH: process.env.PATH, ...server.env, ...SECRET, ...own, ...given, ...more };
    workers.push(
      spawn(process.execPath, [cli, 'worker', ...options, '--listen', '127.0.0.1:0'], {
        ...{ env, stdio: 'ignore' },
      }),
    );
  };

  beforeAll(async () => {
    server = await startServer({ env: SECRET });
    client = new Client({ server: server.url });
    startWorker('w1', {});
    startWorker('w2', { tools: '/' });
    await until('both workers accept calls', async () => {
      const reachable = (await client.workers.list()).filter(({ id, rpc_url }) => id !== 'local' && rpc_url);
      return reachable.length === 2;
    });
    await client.workers.drain('local');
  });
  afterAll(async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    await server.stop();
    removeHome(server.home);
  });

  it('is placed on the worker that has the image, as the dry run says', async () => {
    const chosen = async (image?: string) =>
      (await client.admission({ provider: 'userspace', ...(image !== undefined && { image }) }))
        .selected_worker_id;
    expect(await chosen()).toBe('w1');
    expect(await chosen('unknown')).toBe('w1');
    expect(await chosen('tools')).toBe('w2');
    const made = await client.spawn({ provider: 'userspace', image: 'tools' });
    expect(made).toMatchObject({ worker_id: 'w2', image: 'tools', state: 'running' });
    await client.destroy(made.id);
    expect(JSON.stringify(await client.workers.list())).not.toContain('tools');
  });

  it('pulls the image on the worker that runs it', async () => {
    const registry = await plainRegistryOfTest();
    const busybox = { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 };
    const layer = tarArchive(
      busybox,
      { name: 'bin/cat', type: '2', link: 'busybox' },
      { name: 'etc/host.conf' },
    );
    registry.put('team/tool', '1', ociFiles({ layers: [layer] }));
    startWorker(
      'w3',
      {},
      {
        SVC_IMAGES_REGISTRIES: registry.host,
        SVC_IMAGES_PATH: join(server.home, 'w3-images'),
      },
    );
    await until('the worker accepts calls', async () =>
      (await client.workers.list()).some(({ id, rpc_url }) => id === 'w3' && rpc_url !== undefined),
    );
    const image = `${registry.host}/team/tool:1`;
    const request = { provider: 'userspace', image, worker_id: 'w3' };
    const made = await client.spawn(request);
    const image_digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
    expect(made).toMatchObject({ worker_id: 'w3', image, image_digest, state: 'running' });
    expect(made.warnings?.[0]).toMatch(/^Image \S+ was pulled by worker w3 in \d+\.\d s\.$/);
    await client.destroy(made.id);
    const again = await client.spawn(request);
    expect((again.warnings ?? []).filter((text) => text.includes('pulled'))).toEqual([]);
    await client.destroy(again.id);
    await expect(client.spawn({ ...request, image: `${registry.host}/team/none:1` })).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('Worker w3 does not find image'),
    });
    // The allowlist is the worker's own.
    const none = { ...request, image: `${registry.host}/team/none:1` };
    await expect(client.spawn({ ...none, worker_id: 'w1' })).rejects.toMatchObject({ code: 'forbidden' });
    await until('the heartbeat names the image', async () => {
      const { selected_worker_id } = await client.admission({ provider: 'userspace', image });
      return selected_worker_id === 'w3';
    });
    await client.workers.drain('w3');
  });
});
