// Three servers over one PostgreSQL database behind HAProxy: any of them serves any sandbox, they report each other, and the
// others go on when one is killed. Other suites run over such a fleet with SVC_TEST_DATABASE=fleet.
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Diagnostics } from '../../src/schema/diagnostics.ts';
import type { Health } from '../../src/schema/system.ts';
import { administer, sharedPostgres } from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const env = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_DEFAULT: 'auto',
  SVC_SERVER_HOST: '127.0.0.1',
};

const database = 'fleet';
const NEEDS = ['postgres', 'haproxy', 'root', 'unshare'] as const;

/** Values of a family at a server, by their labels. */
async function samples(client: Api, name: string): Promise<Record<string, number>> {
  const text = await (await client.raw('/metrics/prometheus')).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(name.length, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' '))),
    ]),
  );
}

describeWith(NEEDS, 'three servers over one database', () => {
  let server: TestServer;
  let each: Api[];
  beforeAll(async () => {
    server = await startServer({ database, env });
    each = (server.replicas ?? []).map(({ url }) => api(url));
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('serve each sandbox, whichever of them started it', async () => {
    const [first, second, third] = each as [Api, Api, Api];
    const { id } = await first.spawn();
    await second.sh(id, 'echo there >/workspace/mark');
    expect((await third.sh(id, 'cat /workspace/mark')).stdout).toBe('there\n');
    await third.destroy(id);
    for (const client of each) expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(404);
  });

  it('report each other, the holders of roles, and the state of the database', async () => {
    await until('all have seen each other', async () => {
      const all = await Promise.all(each.map((client) => client.call<Diagnostics>('GET', '/diagnostics')));
      return all.every(({ body }) => body.replicas?.live.length === 3);
    });
    const bodies = await Promise.all(
      each.map(async (client) => (await client.call<Diagnostics>('GET', '/diagnostics')).body),
    );
    const ids = bodies.map(({ replicas }) => replicas?.id);
    for (const [n, { replicas, store }] of bodies.entries()) {
      expect(replicas?.live.map(({ id }) => id).sort()).toEqual([...ids].sort());
      const port = new URL(server.replicas?.[n]?.url ?? '').port;
      expect(replicas?.live[0]).toMatchObject({ id: ids[n], same_configuration: true });
      expect(new URL(replicas?.live[0]?.url ?? '').port).toBe(port);
      expect(Object.keys(replicas?.roles ?? {}).sort()).toEqual(['desk', 'upkeep', 'warm']);
      expect(store.shared).toMatchObject({ waits_for_standby: false, standbys: 0 });
    }
    const { body } = await (each[0] as Api).call<Health>('GET', '/health');
    expect(body.checks.replicas).toMatchObject({
      status: 'ok',
      message: 'Servers that share the database: 3.',
    });
  });

  it('have metrics of their own, and one of them each role', async () => {
    const infos = await Promise.all(each.map((client) => samples(client, 'svc_replica_info')));
    expect(new Set(infos.flatMap(Object.keys)).size).toBe(3);
    const roles = await Promise.all(each.map((client) => samples(client, 'svc_role')));
    for (const role of ['upkeep', 'desk', 'warm'])
      expect(roles.reduce((sum, one) => sum + (one[`{role="${role}"}`] ?? 0), 0)).toBe(1);
    for (const client of each) {
      expect(await samples(client, 'svc_database_up')).toEqual({ '': 1 });
      expect(await samples(client, 'svc_replicas')).toEqual({ '': 3 });
      expect(Object.keys(await samples(client, 'svc_database_retries_total')).sort()).toEqual([
        '{outcome="refused"}',
        '{outcome="unknown"}',
      ]);
    }
    await until('no event waits', async () => (await samples(each[0] as Api, 'svc_outbox_depth'))[''] === 0);
  });

  it('ignore notifications that other users of the database make up', async () => {
    const name = new URL(server.env.SVC_DATABASE_URL ?? '').pathname.slice(1);
    const kinds = ['ticket', 'freed', 'demand', 'quota', 'templates', 'secrets', 'roles', 'events', 'x'];
    const words = kinds.flatMap((kind) => [`${kind} {`, `${kind} null`, `${kind} []`, `${kind} {}`]);
    for (const word of words)
      await administer(await sharedPostgres(), `SELECT pg_notify('svc_signals', '${word}')`, name);
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const client of each) {
      expect((await client.call('GET', '/live')).status).toBe(200);
      const { id } = await client.spawn();
      await client.destroy(id);
    }
  });

  it('go on when one is killed, and take its roles', async () => {
    const { id } = await api(server.url).spawn();
    await server.replicas?.[0]?.end('SIGKILL');
    const [, second, third] = each as [Api, Api, Api];
    expect((await second.sh(id, 'echo on')).stdout).toBe('on\n');
    await until('the roles have moved', async () => {
      const held = await Promise.all([second, third].map((client) => samples(client, 'svc_role')));
      return held.flatMap(Object.values).reduce((sum, value) => sum + value, 0) === 3;
    });
    // HAProxy sends what the dead one refuses to another.
    for (let n = 0; n < 6; n++)
      expect((await api(server.url).call('GET', `/sandboxes/${id}`)).status).toBe(200);
    await api(server.url).destroy(id);
  });
});

describeWith(NEEDS, 'keys and logins at three servers', () => {
  it('work at every server as soon as one of them has made them', async () => {
    const auth = {
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: 'api-key-0123456789abcdef0123456789abcdef',
      SVC_AUTH_ADMIN_API_KEY: 'admin-key-0123456789abcdef0123456789abcdef',
    };
    const server = await startServer({ database, env: { ...env, ...auth } });
    onTestFinished(async () => {
      await server.stop();
      removeHome(server.home);
    });
    const urls = (server.replicas ?? []).map(({ url }) => url);
    const at = (url: string | undefined, key: string) => api(url ?? '', { 'x-api-key': key });
    const [first, ...others] = urls;
    const admin = at(first, auth.SVC_AUTH_ADMIN_API_KEY);
    for (let n = 0; n < 5; n++) {
      const name = `key-of-round-${n}`;
      const { secret } = (await admin.call<{ secret: string }>('POST', '/admin/keys', { name })).body;
      for (const url of others) expect((await at(url, secret).call('GET', '/sandboxes')).status).toBe(200);
      const { token, id } = (await admin.call<{ token: string; id: string }>('POST', '/sessions', {})).body;
      for (const url of others)
        expect((await at(url, token).call('GET', '/sessions/current')).body).toMatchObject({
          session: { id },
        });
      const end = at(others[0], auth.SVC_AUTH_ADMIN_API_KEY).call('DELETE', `/admin/sessions/${id}`);
      expect((await end).status).toBeLessThan(300);
    }
    const unknown = at(others[0], `svc_${'x'.repeat(49)}`);
    expect((await unknown.call('GET', '/sandboxes')).status).toBe(401);
  });
});

describeWith(NEEDS, 'spawns that wait at three servers', () => {
  it('keep their turns when a server is killed, and a client that repeats with its key keeps its position', async () => {
    const full = { SVC_DEFAULTS_MAX_SANDBOXES: '2', SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue' };
    const server = await startServer({ database, env: { ...env, ...full } });
    onTestFinished(async () => {
      await server.stop();
      removeHome(server.home);
    });
    const [first, second, third] = (server.replicas ?? []).map(({ url }) => api(url)) as [Api, Api, Api];
    const running = [await second.spawn(), await third.spawn()].map(({ id }) => id);
    const depth = async () =>
      (await third.call<{ queue_depth: number }>('POST', '/sandboxes/admission', {})).body.queue_depth;
    const started: string[] = [];
    let waiting = 0;
    const spawn = (client: Api, owner_id: string, key?: string) => {
      const headers = key === undefined ? {} : { 'idempotency-key': key };
      client.call<{ id: string }>('POST', '/sandboxes', { owner_id }, headers).then(
        ({ body: { id } }) => {
          started.push(`${owner_id} ${key}`);
          running.push(id);
        },
        // Of the server that is killed.
        () => undefined,
      );
    };
    const wait = async (...spawned: Parameters<typeof spawn>) => {
      spawn(...spawned);
      waiting++;
      await until('it waits', async () => (await depth()) === waiting);
    };
    await wait(first, 'ann', 'oldest');
    await wait(second, 'ann', 'younger');
    await wait(first, 'bob', 'other');
    await wait(third, 'ann', 'youngest');
    await wait(first, 'ann');
    // It was also the one that admits spawns.
    await server.replicas?.[0]?.end('SIGKILL');
    spawn(second, 'ann', 'oldest');
    spawn(third, 'bob', 'other');
    await until('the one without a key is given up', async () => (await depth()) === 4, 30_000);
    const order = ['ann oldest', 'bob other', 'ann younger', 'ann youngest'];
    for (const [n] of order.entries()) {
      await second.destroy(running.shift() ?? '');
      await until('the next one starts', () => started.length > n, 30_000);
      expect(started).toEqual(order.slice(0, n + 1));
    }
    expect(await depth()).toBe(0);
    for (const id of running) await third.destroy(id);
  });
});

describeWith(NEEDS, 'servers that do not listen to each other', () => {
  it('show the events of others by polling', async () => {
    const server = await startServer({ database, env: { ...env, SVC_DATABASE_LISTEN: 'false' } });
    onTestFinished(async () => {
      await server.stop();
      removeHome(server.home);
    });
    const name = new URL(server.env.SVC_DATABASE_URL ?? '').pathname.slice(1);
    const listening = await administer(
      await sharedPostgres(),
      `SELECT pid FROM pg_stat_activity WHERE datname = '${name}' AND query LIKE 'LISTEN%'`,
    );
    expect(listening).toEqual([]);
    const [first, , third] = (server.replicas ?? []).map(({ url }) => api(url)) as [Api, Api, Api];
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const stream = await third.raw('/events', { signal: stop.signal });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    const { id } = await first.spawn();
    let text = '';
    while (!(text.includes('sandbox.running') && text.includes(id)))
      text += (await reader?.read())?.value ?? '';
    await first.destroy(id);
  });
});
