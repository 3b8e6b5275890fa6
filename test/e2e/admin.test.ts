// The admin API of a real server: its audit outlives a stop, its commands show it, its limits hold.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/schema/audit.ts';
import { itOnOneServer, itOnOwnHost } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const KEYS = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: 'api-key-0123456789abcdef0123456789abcdef',
  SVC_AUTH_ADMIN_API_KEY: 'admin-key-0123456789abcdef0123456789abcdef',
};
const LIMITS = {
  SVC_RATE_LIMIT_ENABLED: 'true',
  SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: '1',
  SVC_RATE_LIMIT_BURST: '20',
};
const admin = { 'x-admin-api-key': KEYS.SVC_AUTH_ADMIN_API_KEY };

let server: TestServer;
const home = makeHome();
const start = async (env: Record<string, string> = {}) => {
  server = await startServer({ home, env: { ...KEYS, ...env } });
};
const cli = (...args: string[]) =>
  runCli(args, { SVC_SERVER: server.url, SVC_API_KEY: KEYS.SVC_AUTH_ADMIN_API_KEY });
beforeAll(() => start());
afterAll(async () => {
  await server.stop();
  removeHome(home);
});

it('keeps the record of every admin call when the server stops at once', async () => {
  const ask = api(server.url).call;
  expect((await ask('GET', '/admin/audit')).status).toBe(401);
  expect((await ask('GET', '/admin/nothing', undefined, { 'user-agent': '=HYPERLINK("x")' })).status).toBe(
    404,
  );
  expect((await ask('GET', '/admin/providers', undefined, { ...admin, 'x-user-id': 'ann' })).status).toBe(
    200,
  );
  await server.stop();
  await start();
  const { status, body } = await api(server.url).call<AuditRecord[]>('GET', '/admin/audit', undefined, admin);
  expect(status).toBe(200);
  // Servers of a fleet agree on the time to some milliseconds, so calls this close may change places.
  expect(body.sort((a, b) => a.status - b.status)).toMatchObject([
    { actor: 'admin:X-Admin-API-Key', user_id: 'ann', path: '/api/v1/admin/providers', status: 200 },
    { actor: 'none', path: '/api/v1/admin/audit', status: 401 },
    { actor: 'none', path: '/api/v1/admin/nothing', status: 404, user_agent: '=HYPERLINK("x")' },
  ]);
});

it('shows the audit as a table, JSON and CSV', async () => {
  const table = await cli('audit', '--status', '404', '--since', '1h');
  expect([table.code, table.stdout]).toEqual([0, expect.stringContaining('/api/v1/admin/nothing')]);
  const json = await cli('audit', '--json', '--limit', '2');
  expect(JSON.parse(json.stdout)).toHaveLength(2);
  const csv = await cli('audit', '--csv', '--path', 'nothing');
  expect(csv.stdout.split('\r\n')).toHaveLength(3);
  expect(csv.stdout).toContain(`"'=HYPERLINK(""x"")"`);
});

itOnOwnHost('the worker has the providers', 'checks providers', async () => {
  const { code, stdout } = await cli('provider', 'test', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ userspace: { healthy: true, latency_ms: expect.any(Number) } });
});

itOnOneServer('each server counts by itself', 'limits calls, and tells a client when to retry', async () => {
  await server.stop();
  await start(LIMITS);
  const { call } = api(server.url, { 'x-api-key': KEYS.SVC_AUTH_API_KEY });
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => (await call('GET', '/sandboxes')).status),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  const refused = await call<{ code: string }>('GET', '/sandboxes');
  expect([refused.status, refused.body.code]).toEqual([429, 'resource_limit']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(30);
  expect((await call('GET', '/live')).status).toBe(200);
});
