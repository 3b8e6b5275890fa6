// Starting, stopping and refusing to start.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['unshare'], 'svc serve', () => {
  const homes: string[] = [];
  const servers: TestServer[] = [];
  const start = async (env: Record<string, string> = {}, home = fresh()) => {
    const server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', ...env }, home });
    servers.push(server);
    return server;
  };
  const fresh = () => {
    const home = makeHome();
    homes.push(home);
    return home;
  };
  const refuse = async (env: Record<string, string>) => {
    const home = fresh();
    return runCli(['serve'], { SVC_SERVER_PORT: '0', SVC_DATABASE_PATH: join(home, 'svc.db'), ...env });
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    for (const home of homes.splice(0)) removeHome(home);
  });

  it('serves and answers when every provider is down', async () => {
    const server = await start({
      SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap',
      SVC_PROVIDERS_USERSPACE_RUNNER_PATH: '/no/such/runner',
    });
    const client = api(server.url);
    expect(await client.call('GET', '/live')).toMatchObject({ status: 200, body: { status: 'alive' } });
    expect(await client.call('GET', '/ready')).toMatchObject({
      status: 503,
      body: { code: 'unavailable', status: 'not_ready', ready_providers: 0 },
    });
    expect(await client.call('GET', '/health')).toMatchObject({ status: 200, body: { status: 'degraded' } });
    const { status } = await client.call('POST', '/sandboxes', {});
    expect([500, 503]).toContain(status);
    expect((await client.call<unknown[]>('GET', '/sandboxes')).body).toEqual([]);
  });

  it('stops in order also while it starts', async () => {
    const home = fresh();
    const env = { ...process.env, SVC_SERVER_PORT: '0', SVC_DATABASE_PATH: join(home, 'svc.db') };
    const child = spawn(process.execPath, [cli, 'serve'], {
      cwd: home,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await until('the database is open', () => log.includes('"instance":'));
    child.kill('SIGTERM');
    expect([await once(child, 'exit'), log]).toMatchObject([[0, null], expect.stringContaining('Stopping')]);
  });

  it('finds its sandboxes again after a restart', async () => {
    const first = await start();
    const { id } = await api(first.url).spawn();
    await api(first.url).sh(id, 'echo kept > /workspace/file; (sleep 300 >/dev/null 2>&1 &)');
    expect(await first.stop()).toBe(0);
    const second = await start({}, first.home);
    const client = api(second.url);
    expect(await client.sh(id, 'cat /workspace/file; pgrep -c sleep')).toMatchObject({ stdout: 'kept\n1\n' });
    await client.destroy(id);
  });

  it('ends expired sandboxes, also those that expired while it was down', async () => {
    const first = await start();
    const { id } = await api(first.url).spawn({ ttl: '1s' });
    await first.kill();
    const second = await start({}, first.home);
    const ended = async () =>
      (await api(second.url).call('GET', `/sandboxes/${id}`)) as {
        status: number;
        body: { details?: object };
      };
    await until('it ended', async () => (await ended()).status === 404);
    expect((await ended()).body.details).toMatchObject({ end_reason: 'expired' });
  });

  it('refuses a second server on the same database', async () => {
    const server = await start();
    const second = await runCli(['serve'], { ...server.env });
    expect(second.code).toBe(5);
    expect(second.stderr).toContain(String(server.child.pid));
  });

  it('refuses a port that is in use, with the reason', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await until('listening', () => taken.listening);
    const { port } = taken.address() as { port: number };
    const run = await refuse({ SVC_SERVER_PORT: String(port) });
    taken.close();
    expect(run.code).not.toBe(0);
    expect(run.stderr).toContain(String(port));
  });

  it('refuses to listen on the network without keys', async () => {
    const run = await refuse({ SVC_SERVER_HOST: '0.0.0.0' });
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('auth.enabled');
    expect((await refuse({ SVC_AUTH_ENABLED: 'true' })).stderr).toContain('auth.api_key');
  });

  it('warns of a key that it does not ask for', async () => {
    const server = await start({ SVC_AUTH_API_KEY: 'canary-key-0123456789abcdef0123456789abcdef' });
    await until('the warning', async () =>
      server.log().includes('calls need none: set auth.enabled to true'),
    );
  });

  it('refuses an unknown variable and a file that is not a database', async () => {
    expect((await refuse({ SVC_SERVER_PROT: '1' })).stderr).toContain('SVC_SERVER_PORT');
    const home = fresh();
    mkdirSync(join(home, 'd'));
    writeFileSync(
      join(home, 'd/svc.db'),
      'this is no database, and long enough to be told from one'.repeat(40),
    );
    const run = await refuse({ SVC_DATABASE_PATH: join(home, 'd/svc.db') });
    expect(run.code).not.toBe(0);
    expect(run.stderr).not.toContain('SqliteError');
    expect(existsSync(join(home, 'd/svc.db-wal'))).toBe(false);
  });

  it('keeps keys out of its log and requires them on every call', async () => {
    const key = 'canary-key-0123456789abcdef0123456789abcdef';
    const server = await start({
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: key,
      SVC_LOGGING_LEVEL: 'debug',
    });
    expect((await api(server.url).call('GET', '/sandboxes')).status).toBe(401);
    expect((await api(server.url, { 'x-api-key': `${key}x` }).call('GET', '/sandboxes')).status).toBe(401);
    const client = api(server.url, { 'x-api-key': key });
    const { id } = await client.spawn({ env: { TOKEN: key } });
    await client.sh(id, `echo ${key}`);
    await client.destroy(id);
    expect(server.log()).not.toContain(key);
    expect((await runCli(['sandbox', 'list'], { SVC_SERVER: server.url })).code).toBe(6);
    expect((await runCli(['sandbox', 'list'], { SVC_SERVER: server.url, SVC_API_KEY: key })).code).toBe(0);
  });

  it('finishes calls in flight before it stops', async () => {
    const server = await start();
    const client = api(server.url);
    const { id } = await client.spawn();
    const running = client.sh(id, 'sleep 1; echo finished');
    await until(
      'the command runs',
      async () => (await client.sh(id, 'pgrep -c sleep; true')).stdout !== '0\n',
    );
    expect(await server.stop()).toBe(0);
    expect(await running).toMatchObject({ stdout: 'finished\n', exit_code: 0 });
    await api((await start({}, server.home)).url).destroy(id);
  });
});
