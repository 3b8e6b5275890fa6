// Whose records a caller reaches while owners are enforced: every route about one sandbox, by nobody, its owner, another
// owner and an admin, against the real control plane.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { tally } from '../../proof/tally.ts';
import { PATHS } from '../../src/http/paths.ts';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import { askSample, ROUTE_IDS, SAMPLES } from '../support/checks/route-samples.ts';
import { type World, world } from '../support/servers/control.ts';
import { ADMIN_KEY, API_KEY } from '../support/servers/http-server.ts';

const auth = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY, enforce_owner: true };
const key = { 'x-api-key': API_KEY };
const [own, other] = [
  { ...key, 'x-user-id': 'ann' },
  { ...key, 'x-user-id': 'bob' },
];
const ABOUT_ONE = ROUTE_IDS.filter(
  (id) => PATHS[id].includes('/sandboxes/{id}') && SAMPLES[id].kind !== 'coded',
);

let w: World;
let server: HttpServer;
let base: string;
beforeAll(async () => {
  w = world({ auth, server: { port: 0, preview_domain: 'preview.test' } });
  server = createHttpServer({ ...w, version: '0' });
  base = `${await server.listen()}/api/v1`;
});
afterAll(() => server.close(0));

async function spawn(): Promise<string> {
  const { status, text } = await askSample(base, 'spawnSandbox', own);
  expect(status).toBe(201);
  const { id } = JSON.parse(text) as { id: string };
  return id;
}

describe('a route about one sandbox', () => {
  it.each(ABOUT_ONE)('%s', async (route) => {
    const id = await spawn();
    const statusOf = async (headers: Record<string, string>) =>
      (await askSample(base, route, headers, id)).status;
    expect(await statusOf(key)).toBe(400);
    expect(await statusOf(other)).toBe(route === 'destroySandbox' ? 200 : 404);
    expect((await w.store.sandboxes.get(id))?.state).toBe('running');
    // Another owner's is told like one that never was.
    const told = async (sandbox: string) =>
      (await askSample(base, route, { ...other, 'x-request-id': 'same' }, sandbox)).text;
    expect(await told(id)).toBe(await told('sb-zzzzzzzzzzzz'));
    // What the sandbox itself answers is its own affair, as long as it was asked.
    for (const headers of [{ 'x-admin-api-key': ADMIN_KEY }, own])
      expect([400, 401, 403]).not.toContain(await statusOf(headers));
    tally('authorization', 'every route of a sandbox × nobody, another owner, admin, owner', {
      trials: 4,
      wrong: 0,
    });
  });
});

describe('routes about many', () => {
  it('list and prune the sandboxes of the caller', async () => {
    const id = await spawn();
    const idsOf = async (headers: Record<string, string>) =>
      (JSON.parse((await askSample(base, 'listSandboxes', headers)).text) as { id: string }[]).map(
        (row) => row.id,
      );
    expect(await idsOf(own)).toContain(id);
    expect(await idsOf(other)).toEqual([]);
    expect(await idsOf({ 'x-api-key': ADMIN_KEY })).toContain(id);
    await w.clock.advance(31 * 60_000);
    expect((await askSample(base, 'pruneSandboxes', other)).text).toBe('{"pruned":0}');
    expect(JSON.parse((await askSample(base, 'pruneSandboxes', own)).text)).toMatchObject({
      pruned: expect.any(Number),
    });
    expect(await idsOf(own)).not.toContain(id);
  });
});

describe('a route about one template', () => {
  const admin = { 'x-admin-api-key': ADMIN_KEY };
  const ROUTES = ['getTemplate', 'spawnTemplate', 'updateTemplate', 'deleteTemplate'] as const;
  /** Of the name that samples ask for. */
  const make = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ name: 'userspace', image: 'i', env: { TOKEN: 'hush' } });
    const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
    return (await fetch(`${base}/templates`, init)).status;
  };
  const ask = (route: (typeof ROUTES)[number], headers: Record<string, string>) =>
    askSample(base, route, { ...headers, 'x-request-id': 'same' });
  afterEach(async () => {
    for (const { name, owner_id } of await w.store.templates.list({ limit: 100 }))
      await w.store.templates.delete({ name, ...(owner_id !== undefined && { owner_id }) });
  });

  it.each(ROUTES)('of an owner: %s', async (route) => {
    const never = await ask(route, other);
    expect(never.status).toBe(404);
    expect(await make(own)).toBe(201);
    const told = await ask(route, other);
    expect([told.status, told.text]).toEqual([never.status, never.text]);
    expect(await make(other)).toBe(201);
    expect((await ask('deleteTemplate', other)).status).toBe(200);
    expect((await ask(route, key)).status).toBe(400);
    expect((await ask(route, admin)).status).toBe(404);
    expect((await ask(route, own)).status).toBe(route === 'spawnTemplate' ? 201 : 200);
    const facts = { trials: 4, wrong: 0 };
    tally('authorization', 'every route of a template × nobody, another owner, admin, owner', facts);
  });

  it.each(ROUTES)('that all owners share: %s', async (route) => {
    expect(await make(admin)).toBe(201);
    expect(await make(own)).toBe(409);
    const changes = route === 'updateTemplate' || route === 'deleteTemplate';
    const expected = changes ? 403 : route === 'spawnTemplate' ? 201 : 200;
    const told = await ask(route, own);
    expect(told.status).toBe(expected);
    expect(told.text).not.toContain('hush');
    const byAdmin = await ask(route, { ...admin, 'x-user-id': 'ann' });
    expect(byAdmin.status).toBe(route === 'spawnTemplate' ? 201 : 200);
    const facts = { trials: 3, wrong: 0 };
    tally('authorization', 'every route of a shared template × nobody, owner, admin', facts);
  });

  it('lists the caller’s templates and those that all owners share', async () => {
    for (const headers of [own, other, admin]) expect(await make(headers)).toBe(201);
    const ownersOf = async (headers: Record<string, string>) =>
      (JSON.parse((await askSample(base, 'listTemplates', headers)).text) as { owner_id?: string }[])
        .map(({ owner_id }) => owner_id ?? 'shared')
        .sort();
    expect(await ownersOf(own)).toEqual(['ann', 'shared']);
    expect(await ownersOf(other)).toEqual(['bob', 'shared']);
    expect(await ownersOf(admin)).toEqual(['ann', 'bob', 'shared']);
  });
});

describe('the name of an owner', () => {
  const asUtf8 = (name: string) => Buffer.from(name).toString('latin1');
  const spawnAs = (name: string) =>
    fetch(`${base}/sandboxes`, {
      method: 'POST',
      headers: { ...key, 'x-user-id': name, 'content-type': 'application/json' },
      body: '{}',
    });

  it.each(['ü', 'à', '日本', 'ann'])('%s means the same in the header and in a path', async (name) => {
    const made = (await (await spawnAs(asUtf8(name))).json()) as { id: string };
    expect((await w.store.sandboxes.get(made.id))?.owner_id).toBe(name);
    const path = `${base}/quotas/${encodeURIComponent(name)}/usage`;
    const usage = await fetch(path, { headers: { 'x-admin-api-key': ADMIN_KEY } });
    expect(((await usage.json()) as { active_sandboxes: number }).active_sandboxes).toBeGreaterThan(0);
  });

  it.each(['\u00a0ann', 'ann\u3000', '\ufeffann', 'an\u200bn', 'ann\u00ad', 'a\u3164n'])(
    'that looks like another, %j, is refused in header, body, path and socket',
    async (name) => {
      expect((await spawnAs(asUtf8(name))).status).toBe(400);
      const json = { 'content-type': 'application/json', 'x-admin-api-key': ADMIN_KEY };
      const body = JSON.stringify({ owner_id: name });
      expect((await fetch(`${base}/sandboxes`, { method: 'POST', headers: json, body })).status).toBe(400);
      const quota = await fetch(`${base}/quotas/${encodeURIComponent(name)}`, {
        ...{ method: 'PUT', headers: json, body: '{"max_sandboxes":1}' },
      });
      expect(quota.status).toBe(400);
      const protocols = [`svc.key.${Buffer.from(API_KEY).toString('base64url')}`];
      protocols.push(`svc.user.${Buffer.from(name).toString('base64url')}`, 'svc.v1');
      const socket = new WebSocket(`${base.replace('http', 'ws')}/sandboxes/sb-x/exec/ws`, protocols);
      const status = await new Promise((resolve) => {
        socket.on('unexpected-response', (_, { statusCode }) => resolve(statusCode));
        socket.on('open', () => resolve('open'));
        socket.on('error', () => {});
      });
      socket.terminate();
      expect(status).toBe(400);
    },
  );

  it('is refused when it is not UTF-8', async () => {
    expect((await spawnAs('\xfc')).status).toBe(400);
  });
});
