// Servers behind PgBouncer in transaction mode: what they need, and that everything works there.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import {
  createDatabase,
  PASSWORD,
  type PostgresServer,
  sharedPostgres,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { startPooler } from '../support/servers/pooler.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const env = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_DEFAULT: 'auto',
  SVC_SERVER_HOST: '127.0.0.1',
};
const POOLED = { SVC_DATABASE_PREPARE: 'false', SVC_DATABASE_LISTEN: 'false' };

describeWith(['postgres', 'haproxy', 'pgbouncer', 'root', 'unshare'], 'PgBouncer in transaction mode', () => {
  let postgres: PostgresServer;
  let url: string;
  beforeEach(async () => {
    postgres = await sharedPostgres();
    url = urlOf(await createDatabase(postgres), await startPooler(postgres));
  });

  async function started(more: Record<string, string>): Promise<TestServer> {
    const given = { ...env, ...more, SVC_DATABASE_URL: url };
    const server = await startServer({ database: 'fleet', env: given });
    onTestFinished(async () => {
      await server.stop();
      removeHome(server.home);
    });
    return server;
  }

  it('serves three servers: sandboxes, keys, events, and a queue', async () => {
    const server = await started({
      ...POOLED,
      SVC_DEFAULTS_MAX_SANDBOXES: '2',
      SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
    });
    const [first, second, third] = (server.replicas ?? []).map((one) => api(one.url)) as [Api, Api, Api];
    const spawn = (client: Api, key: string) =>
      client.call<{ id: string }>('POST', '/sandboxes', {}, { 'idempotency-key': key });
    const { body } = await spawn(first, 'k');
    expect((await spawn(second, 'k')).body).toEqual(body);
    expect((await second.sh(body.id, 'echo $((6 * 7))')).stdout).toBe('42\n');
    expect((await third.call('POST', `/sandboxes/${body.id}/extend`, { ttl: '2h' })).status).toBe(200);
    const { id } = await third.spawn();
    const waiting = spawn(first, 'waits');
    await until('it waits', async () => {
      const { body } = await third.call<{ queue_depth: number }>('POST', '/sandboxes/admission', {});
      return body.queue_depth === 1;
    });
    await second.destroy(body.id);
    expect((await waiting).status).toBe(201);
    await third.destroy(id);
    await first.destroy((await waiting).body.id);
    const told = await runCli(['events', '--no-follow', '--json', '--sandbox', id], {
      SVC_SERVER: server.url,
    });
    const types = ['sandbox.created', 'sandbox.running', 'sandbox.destroyed'];
    expect(told.stdout.match(/sandbox\.\w+/g)).toEqual(types);
  });

  it('is named by svc doctor, with what servers need there', async () => {
    const folder = temporaryFolder();
    const config = join(folder, 'svc.yaml');
    writeFileSync(config, 'logging:\n  level: info\n');
    const doctor = async (more: Record<string, string>) => {
      const given = { HOME: folder, SVC_DATABASE_URL: url, ...more };
      const { stdout } = await runCli(['doctor', '--only', 'postgres', '--json', '--config', config], given);
      expect(stdout).not.toContain(PASSWORD);
      const { groups } = JSON.parse(stdout) as {
        groups: { checks: { id: string; verdict: string; fix?: string }[] }[];
      };
      return groups.flatMap(({ checks }) => checks).find(({ id }) => id === 'postgres.pooler');
    };
    expect(await doctor({})).toMatchObject({
      verdict: 'fail',
      fix: expect.stringContaining('database.prepare'),
    });
    expect(await doctor(POOLED)).toMatchObject({ verdict: 'warn' });
  });
});
