// Ready sandboxes on workers, with real processes: kept there, taken at once, moved by a drain, replaced after a kill.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { agents } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { placeOnWorkers, workerEnv } from '../support/servers/worker-beside.ts';
import { until } from '../support/until.ts';

const SECRET = { SVC_AUTH_WORKER_TOKEN: 'a secret of one afternoon, no more' };
const WAIT_MS = 60_000;

describeWith(['unshare'], 'ready sandboxes on workers', () => {
  let server: TestServer;
  let client: Client;
  const processes = new Map<string, ChildProcess>();

  const startWorker = (id: string) => {
    const args = ['--id', id, '--control-plane', server.url, '--heartbeat-interval', '1s'];
    const home = join(server.home, id);
    const workspaces = { SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(home, 'workspaces') };
    const env = { ...workerEnv(server.env, home), ...workspaces, ...SECRET };
    const command = [cli, 'worker', ...args, '--listen', '127.0.0.1:0'];
    processes.set(id, spawn(process.execPath, command, { env, stdio: 'ignore' }));
  };
  const ready = async () => (await client.system.metrics()).prewarm.by_worker;
  /** Each server counts what it gave out itself. */
  const claimed = async () => {
    const urls = (server.replicas ?? [server]).map(({ url }) => url);
    const all = await Promise.all(urls.map((url) => new Client({ server: url }).system.metrics()));
    return all.reduce((sum, { prewarm }) => sum + prewarm.claimed_total, 0);
  };
  /** Sandboxes that a worker runs, whoever knows of them. */
  const running = (id: string) => agents([instanceOf(join(server.home, id, `worker-${id}.db`))]).length;
  const untilReady = (want: Record<string, number>) =>
    until(
      `ready: ${JSON.stringify(want)}`,
      async () => JSON.stringify(await ready()) === JSON.stringify(want),
      WAIT_MS,
    );

  beforeAll(async () => {
    const env = { ...SECRET, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    server = await startServer({ onWorker: false, env });
    client = new Client({ server: server.url });
    startWorker('w1');
    await until('w1 is there', async () => (await client.workers.list()).some(({ rpc_url }) => rpc_url));
    await placeOnWorkers(client);
    await client.templates.create({
      ...{ name: 'py', image: 'host', provider: 'userspace', memory_mb: 64, prewarm: 2 },
      setup: ['echo made > /workspace/flag'],
    });
  });
  afterAll(async () => {
    await client.templates.delete('py').catch(() => undefined);
    for (const child of processes.values()) child.kill('SIGTERM');
    await server.stop();
    removeHome(server.home);
  });

  it('are kept on a worker after their setup, and become ordinary sandboxes', async () => {
    await untilReady({ w1: 2 });
    expect(running('w1')).toBe(2);
    expect((await client.workers.list()).find(({ id }) => id === 'w1')?.active_sandboxes).toBe(0);
    const before = await claimed();
    const taken = await client.spawn({ template: 'py', ttl: '10s' });
    expect(await claimed()).toBe(before + 1);
    expect(taken).toMatchObject({ worker_id: 'w1', state: 'running' });
    expect((await client.exec(taken.id, { command: 'cat flag' })).stdout).toBe('made\n');
    await untilReady({ w1: 2 });
    await until('its lifetime ends it', async () => running('w1') === 2, WAIT_MS);
    const { end_reason } = await client.get(taken.id).catch(({ details }) => details);
    expect(end_reason).toBe('expired');
  });

  it('are waited for by a drain of their worker', async () => {
    const drain = (...more: string[]) =>
      runCli(['worker', 'drain', 'w1', '--server', server.url, ...more], server.env);
    // The worker counts with its next heartbeat.
    await until('w1 holds two ready ones', async () => {
      const { active_sandboxes, prewarmed_sandboxes } = await client.workers.get('w1');
      return active_sandboxes === 0 && prewarmed_sandboxes === 2;
    });
    expect(await drain('--wait', '--timeout', '1m')).toMatchObject({ code: 0 });
    expect(running('w1')).toBe(0);
    await drain('--undo');
    await untilReady({ w1: 2 });
  });

  it('move to another worker when theirs drains', async () => {
    const live = await client.spawn({ template: 'py' });
    expect(live.worker_id).toBe('w1');
    startWorker('w2');
    await until('w2 is there', async () =>
      (await client.workers.list()).some(({ id, rpc_url }) => id === 'w2' && rpc_url),
    );
    await client.workers.drain('w1');
    await untilReady({ w2: 2 });
    await until('only the taken one stays', () => running('w1') === 1, WAIT_MS);
    expect((await client.exec(live.id, { command: 'cat flag' })).stdout).toBe('made\n');
    await client.destroy(live.id);
    await client.workers.drain('w1', false);
  });

  it('are replaced elsewhere when their worker is killed, and ended when it is back', async () => {
    await until(
      'w1 accepts sandboxes',
      async () => (await client.workers.get('w1')).status === 'online',
      WAIT_MS,
    );
    await untilReady({ w2: 2 });
    const killed = processes.get('w2') as ChildProcess;
    killed.kill('SIGKILL');
    await untilReady({ w1: 2 });
    expect(await client.spawn({ template: 'py' })).toMatchObject({ worker_id: 'w1' });
    startWorker('w2');
    await until('nothing is left on w2', () => running('w2') === 0, WAIT_MS);
    await until('two are ready again', async () => (await ready()).w1 === 2, WAIT_MS);
  });

  it('end with their template', async () => {
    await client.templates.delete('py');
    await untilReady({});
    for await (const { id } of client.list()) await client.destroy(id);
    await until('nothing is left', () => running('w1') + running('w2') === 0, WAIT_MS);
  });
});

/** As run folders carry it. */
function instanceOf(journal: string): string {
  const db = new Sqlite(journal, { readonly: true });
  const id = db.prepare('SELECT id FROM instance').pluck().get() as string;
  db.close();
  return id.replaceAll('-', '').slice(0, 12);
}
