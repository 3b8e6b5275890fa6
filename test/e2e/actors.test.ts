// Who did what, on a real server: one key spawns, another destroys, and every place that is asked names them.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/schema/audit.ts';
import type { Event } from '../../src/schema/event.ts';
import type { ExecItem } from '../../src/schema/exec.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const KEYS = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: 'api-key-0123456789abcdef0123456789abcdef',
  SVC_AUTH_ADMIN_API_KEY: 'admin-key-0123456789abcdef0123456789abcdef',
};
const USER = 'api:X-API-Key';
const ADMIN = 'admin:X-Admin-API-Key';
const CANARY = 'c4nary-7Xk9-w7Xk9-token';

let server: TestServer;
const home = makeHome();
const user = () => api(server.url, { 'x-api-key': KEYS.SVC_AUTH_API_KEY });
const admin = () => api(server.url, { 'x-admin-api-key': KEYS.SVC_AUTH_ADMIN_API_KEY });
const cli = (...args: string[]) =>
  runCli(args, { SVC_SERVER: server.url, SVC_API_KEY: KEYS.SVC_AUTH_ADMIN_API_KEY });
const get = async <T>(path: string) => (await admin().call<T>('GET', path)).body;
const ended = async (id: string) =>
  (await get<Sandbox[]>('/sandboxes?include_ended=true')).find((sandbox) => sandbox.id === id);

beforeAll(async () => {
  server = await startServer({ home, env: KEYS });
});
afterAll(async () => {
  await server.stop();
  removeHome(home);
});

it('names the key that spawned and the key that destroyed, everywhere', async () => {
  const { id } = await user().spawn({ ttl: '10m' });
  await user().sh(id, `true --password=${CANARY} -H "Authorization: Bearer ${CANARY}"`);
  await admin().call('POST', `/sandboxes/${id}/extend`, { ttl: '20m' });
  const live = await get<ExecItem[]>(`/sandboxes/${id}/execs`);
  expect(live).toMatchObject([{ actor: USER, state: 'exited', exit_code: 0 }]);
  await admin().destroy(id);

  expect(await ended(id)).toMatchObject({ created_by: USER, ended_by: ADMIN, end_reason: 'destroyed' });
  const lost = await admin().call('GET', `/sandboxes/${id}`);
  expect(lost.body).toMatchObject({ details: { ended_by: ADMIN } });

  const events = (await cli('events', '--no-follow', '--sandbox', id, '--json')).stdout;
  const actors = events
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
  const of = (type: string) => actors.find((event) => event.type === type)?.actor;
  expect([of('sandbox.created'), of('exec.started'), of('sandbox.destroyed')]).toEqual([USER, USER, ADMIN]);
  const byAdmin = await cli('events', '--no-follow', '--actor', ADMIN, '--json');
  expect(byAdmin.stdout).toContain('sandbox.destroyed');
  expect(byAdmin.stdout).not.toContain('sandbox.created');

  const audit = await get<AuditRecord[]>(`/admin/audit?target=${id}`);
  expect(audit.map(({ actor, method, status }) => `${actor} ${method} ${status}`)).toEqual([
    `${ADMIN} DELETE 200`,
    `${ADMIN} POST 200`,
    `${USER} POST 201`,
  ]);
  const table = await cli('audit', '--target', id, '--actor', USER);
  expect(table.stdout).toContain('/api/v1/sandboxes');
  expect(table.stdout).not.toContain('DELETE');

  const execs = await get<ExecItem[]>(`/sandboxes/${id}/execs`);
  expect(execs).toEqual(live);
  expect(execs[0]?.command).toContain('true --password=');
  const list = await cli('exec', 'list', id);
  expect(list.stdout).toContain(USER);

  await until('the access log has both', () => {
    const lines = server
      .log()
      .split('\n')
      .filter((line) => line.includes(id));
    return [USER, ADMIN].every((actor) => lines.some((line) => line.includes(`"actor":"${actor}"`)));
  });
  const everything = [events, JSON.stringify([audit, execs]), table.stdout, list.stdout, server.log()];
  for (const text of everything) expect(text).not.toContain(CANARY);
});

it('names the service as actor where no caller acted', async () => {
  const { id } = await user().spawn({ ttl: '1s' });
  await until('it has expired', async () => (await ended(id))?.ended_at !== undefined);
  expect(await ended(id)).toMatchObject({ end_reason: 'expired', ended_by: 'system:expired' });
  const explained = await cli('sandbox', 'explain', id);
  expect(explained.stdout).toContain('system:expired');
});
