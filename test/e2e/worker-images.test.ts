// Two real workers with different images: a spawn goes to the one that has its image.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { describeWith } from '../support/requires.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const SECRET = { SVC_AUTH_WORKER_TOKEN: 'a secret of one afternoon, no more' };

describeWith(['bwrap'], 'a spawn of an image', () => {
  let server: TestServer;
  let client: Client;
  const workers: ChildProcess[] = [];

  const startWorker = (id: string, images: object) => {
    const options = ['--id', id, '--control-plane', server.url, '--heartbeat-interval', '1s'];
    const home = join(server.home, id);
    const own = { HOME: home, SVC_DATABASE_PATH: join(home, 'w.db') };
    const given = { SVC_PROVIDERS_USERSPACE_IMAGES: JSON.stringify(images) };
    const env = { PATH: process.env.PATH, ...server.env, ...SECRET, ...own, ...given };
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
});
