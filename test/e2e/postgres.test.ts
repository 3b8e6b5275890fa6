// `svc serve` over a real PostgreSQL and a `svc worker` beside it: what works, what the start refuses, what survives a restart,
// and what happens while the database is away.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import {
  administer,
  createDatabase,
  PASSWORD,
  type PostgresServer,
  sharedPostgres,
  USER,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { boundStatements } from '../support/scripted/bound-statements.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { api } from '../support/servers/api.ts';
import { type CliRun, runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const SECRETS = [PASSWORD, encodeURIComponent(PASSWORD)];
const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_PROVIDERS_DEFAULT: 'auto' };

describeWith(['postgres', 'root', 'unshare'], 'a server over PostgreSQL', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ database: 'postgres', env });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('names its database at the start, without the password', () => {
    expect(server.log()).toMatch(
      /The database is open: PostgreSQL \d+\S*, database t\d+_\d+ on 127\.0\.0\.1:\d+\./,
    );
    for (const secret of SECRETS) expect(server.log()).not.toContain(secret);
  });

  it('runs sandboxes on its worker, and none itself', async () => {
    const client = api(server.url);
    const sandbox = await client.spawn();
    expect(sandbox).toMatchObject({ state: 'running', worker_id: 'beside', provider: 'userspace' });
    expect(await client.sh(sandbox.id, 'echo $((6 * 7))')).toMatchObject({ exit_code: 0, stdout: '42\n' });
    expect((await client.call('GET', '/providers')).body).toEqual([]);
    const { body: workers } = await client.call<{ id: string }[]>('GET', '/workers');
    expect(workers.map(({ id }) => id)).toEqual(['beside']);
    await client.destroy(sandbox.id);
  });

  it('finds its sandboxes again after a stop and after a kill', async () => {
    const { id } = await api(server.url).spawn({ metadata: { kept: 'yes' } });
    await api(server.url).sh(id, 'echo before >/workspace/mark');
    for (const end of ['stop', 'kill'] as const) {
      await server[end]();
      server = await startServer({ database: 'postgres', env, home: server.home });
      const client = api(server.url);
      expect((await client.call('GET', `/sandboxes/${id}`)).body).toMatchObject({
        state: 'running',
        metadata: { kept: 'yes' },
      });
      expect((await client.sh(id, 'cat /workspace/mark')).stdout).toBe('before\n');
    }
    await api(server.url).destroy(id);
  });

  it('is not ready without a worker that accepts sandboxes', async () => {
    const client = api(server.url);
    expect(await client.call('GET', '/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });
    await client.call('POST', '/admin/workers/beside/drain', { drain: true });
    expect(await client.call('GET', '/ready')).toMatchObject({
      status: 503,
      body: { message: 'No provider is healthy, and no worker accepts sandboxes.' },
    });
    await client.call('POST', '/admin/workers/beside/drain', { drain: false });
    await until('it is ready', async () => (await client.call('GET', '/ready')).status === 200);
  });
});

/** A server whose database is behind the proxy. It ends with the test. */
async function serverBehind(proxy: { port: number }, postgres: PostgresServer): Promise<TestServer> {
  const url = urlOf(await createDatabase(postgres), proxy.port);
  const server = await startServer({ database: 'postgres', env: { ...env, SVC_DATABASE_URL: url } });
  onTestFinished(async () => {
    await server.stop();
    removeHome(server.home);
  });
  return server;
}

describeWith(['postgres', 'root', 'unshare'], 'an exec on a running sandbox', () => {
  it('reads the database once', async () => {
    const postgres = await sharedPostgres();
    const names: string[] = [];
    const proxy = await tcpProxy(() => postgres.port, {
      losesAnswerOf: (request) => {
        names.push(...boundStatements(request));
        return false;
      },
    });
    const server = await serverBehind(proxy, postgres);
    const client = api(server.url);
    const { id } = await client.spawn();
    await client.sh(id, 'true');
    names.length = 0;
    for (let i = 0; i < 20; i++) await client.sh(id, 'true');
    // Others belong to heartbeats, which come once a second, and writes follow the start of the command.
    const reads = names.filter((name) => !name.startsWith('write-'));
    const often = [...new Set(reads)].map((name) => [name, reads.filter((each) => each === name).length]);
    expect(often.filter(([, count]) => Number(count) >= 20)).toEqual([['sandbox-quota', 20]]);
  });
});

describeWith(['postgres', 'root', 'unshare'], 'an outage of PostgreSQL', () => {
  it('costs 503 for calls, and nothing for a running command', async () => {
    const postgres = await sharedPostgres();
    const proxy = await tcpProxy(() => postgres.port);
    const server = await serverBehind(proxy, postgres);
    const client = api(server.url);
    const { id } = await client.spawn();
    const lines = await streamed(server, id, 'for i in $(seq 1000); do echo $i; sleep 0.05; done');
    expect(await lines.next()).toBe('1\n');

    proxy.mode = 'refuse';
    proxy.cut();
    const [spawned, read, live, ready, health] = await Promise.all([
      client.call<{ code: string }>('POST', '/sandboxes', {}),
      client.call('GET', `/sandboxes/${id}`),
      client.call('GET', '/live'),
      client.call('GET', '/ready'),
      client.call('GET', '/health'),
    ]);
    expect([spawned.status, spawned.body.code]).toEqual([503, 'unavailable']);
    expect(Number(spawned.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([read.status, live.status]).toEqual([503, 200]);
    expect(ready).toMatchObject({ status: 503, body: { message: 'The database does not answer.' } });
    expect(health.body).toMatchObject({ status: 'degraded', checks: { database: { status: 'failed' } } });
    const during = Number(await lines.next());
    expect(Number(await lines.next())).toBe(during + 1);

    proxy.mode = 'pass';
    expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(200);
    expect((await client.call('GET', '/ready')).status).toBe(200);
    expect(Number(await lines.next())).toBe(during + 2);
    await client.destroy((await client.spawn()).id);
    await client.destroy(id);
    for (const secret of SECRETS) expect(server.log()).not.toContain(secret);
  });
});

describeWith(['postgres'], 'svc serve refuses to start', () => {
  let postgres: PostgresServer;
  let home: string;
  beforeAll(async () => {
    postgres = await sharedPostgres();
    home = makeHome();
    // Instead of the sample in the current folder, which names every key.
    writeFileSync(join(home, 'svc.yaml'), 'logging:\n  level: info\n');
  });
  afterAll(() => removeHome(home));

  const serve = async (url: string, more: Record<string, string> = {}): Promise<CliRun> => {
    const given = { HOME: home, XDG_RUNTIME_DIR: home, SVC_SERVER_PORT: '0', SVC_DATABASE_URL: url, ...more };
    const run = await runCli(['serve', '--config', join(home, 'svc.yaml')], given);
    for (const secret of SECRETS) expect(run.stdout + run.stderr).not.toContain(secret);
    return run;
  };

  it('with a wrong password, at once', async () => {
    const url = `postgres://${USER}:a-wrong-password@127.0.0.1:${postgres.port}/postgres?sslmode=disable`;
    const { code, stderr } = await serve(url);
    expect([code, stderr]).toEqual([
      8,
      expect.stringContaining('The database refused the user of database.url.'),
    ]);
    expect(stderr).toContain('password authentication failed');
    expect(stderr).not.toContain('a-wrong-password');
    expect(stderr).not.toContain('retrying');
  });

  it('with a database that does not exist', async () => {
    const { code, stderr } = await serve(urlOf('nowhere', postgres.port));
    expect([code, stderr]).toEqual([8, expect.stringContaining('database "nowhere" does not exist')]);
  });

  it('on a server that takes no writes', async () => {
    const name = await createDatabase(postgres);
    await administer(postgres, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const { code, stderr } = await serve(urlOf(name, postgres.port));
    expect([code, stderr]).toEqual([
      8,
      expect.stringContaining('No host of database.url is a writable primary.'),
    ]);
    expect(stderr).toContain(`127.0.0.1:${postgres.port}: The host is read-only.`);
  });

  it('when no host answers for a while, with the reason of each', async () => {
    const { code, stderr } = await serve(urlOf('any', 1, 2));
    expect(code).toBe(8);
    expect(stderr).toContain('The database does not accept connections yet; retrying for 5 s.');
    expect(stderr).toMatch(/127\.0\.0\.1:1: connect ECONNREFUSED.*127\.0\.0\.1:2: connect ECONNREFUSED/s);
  });

  it('when the certificate of the server cannot be checked', async () => {
    const url = urlOf('postgres', postgres.port).replace('sslmode=disable', 'sslmode=verify-full');
    const { code, stderr } = await serve(url);
    expect([code, stderr]).toEqual([8, expect.stringContaining('does not support SSL')]);
  });

  it('with tables of another program', async () => {
    const name = await createDatabase(postgres);
    await administer(postgres, 'CREATE TABLE theirs (id int)', name);
    const { code, stderr } = await serve(urlOf(name, postgres.port));
    expect([code, stderr]).toEqual([5, expect.stringContaining('tables of another program')]);
  });

  it('with local kinds that somebody switched on, a path, or a pool', async () => {
    const url = urlOf('postgres', postgres.port);
    const { code, stderr } = await serve(url, { SVC_PROVIDERS_USERSPACE_ENABLED: 'true' });
    expect([code, stderr]).toEqual([2, expect.stringContaining('run svc worker on this host')]);
    expect((await serve(url, { SVC_POOL_ENABLED: 'true' })).stderr).toContain('pool.enabled cannot be true');
    expect((await serve(url, { SVC_DATABASE_PATH: '/x.db' })).stderr).toContain('exclude each other');
  });
});

/** The standard output of a running command, piece by piece. */
async function streamed(
  { url }: TestServer,
  id: string,
  command: string,
): Promise<{ next(): Promise<string> }> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`${url}/api/v1/sandboxes/${id}/exec`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ command, stream: true }),
    signal: stop.signal,
  });
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
  body.on('error', () => {});
  const lines = createInterface({ input: body })[Symbol.asyncIterator]();
  return {
    next: async () => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error('the command ended');
        const line = JSON.parse(String(value)) as { stream: string; data: string };
        if (line.stream === 'stdout') return line.data;
      }
    },
  };
}
