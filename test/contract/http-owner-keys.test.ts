// Whose records a named key of an owner reaches while owners are not enforced, and who must name a user in a pool: the real
// control plane. What each scope opens is in http-keys-access.test.ts, owners with the shared key are in http-owners.test.ts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tally } from '../../proof/tally.ts';
import { PATHS } from '../../src/http/paths.ts';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import type { Event } from '../../src/schema/event.ts';
import type { ExecItem } from '../../src/schema/exec.ts';
import { askSample, ROUTE_IDS, SAMPLES } from '../support/checks/route-samples.ts';
import { type Answer, api } from '../support/servers/api.ts';
import { admin, type World, world } from '../support/servers/control.ts';
import { ADMIN_KEY, API_KEY } from '../support/servers/http-server.ts';

const AUTH = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY };
const POOL = { enabled: true, image: 'host', max_vms: 2, max_users_per_vm: 2 } as const;
const ABOUT_ONE = ROUTE_IDS.filter(
  (id) => PATHS[id].includes('/sandboxes/{id}') && SAMPLES[id].kind !== 'coded',
);
const shared = { 'x-api-key': API_KEY };

interface Served {
  w: World;
  server: HttpServer;
  url: string;
  /** Headers with a new key. */
  key(facts: { owner_id?: string; scopes?: ['admin'] }): Promise<Record<string, string>>;
}

async function serve(config: Parameters<typeof world>[0]): Promise<Served> {
  const w = world(Object.assign({ server: { port: 0, preview_domain: 'preview.test' } }, config));
  const server = createHttpServer(Object.assign({ version: '0' }, w));
  const url = await server.listen();
  let count = 0;
  const key: Served['key'] = async (facts) => {
    count += 1;
    const { secret } = await w.control.keys.create(Object.assign({ name: `key-${count}` }, facts), admin);
    return { 'x-api-key': secret };
  };
  return { w, server, url, key };
}

describe('a key of an owner, while owners are not enforced', () => {
  let served: Served;
  let [ann, bob, all]: Record<string, string>[] = [];
  beforeAll(async () => {
    served = await serve({ auth: AUTH });
    ann = await served.key({ owner_id: 'ann' });
    bob = await served.key({ owner_id: 'bob' });
    all = await served.key({});
  });
  afterAll(() => served.server.close(0));

  const as = (headers: Record<string, string> | undefined) =>
    api(served.url, Object.assign({ 'x-request-id': 'same' }, headers));
  const spawn = async (headers: Record<string, string> | undefined) => (await as(headers).spawn()).id;
  /** What of an answer its reader sees. */
  const seen = ({ status, body }: Answer<unknown>) => ({ status, body });

  it.each(ABOUT_ONE)('%s', async (route) => {
    const base = `${served.url}/api/v1`;
    const [own, nobodys] = [await spawn(ann), await spawn(shared)];
    const answer = async (headers: Record<string, string> | undefined, id: string) => {
      const { status, text } = await askSample(
        base,
        route,
        Object.assign({ 'x-request-id': 'same' }, headers),
        id,
      );
      return { status, text };
    };
    const unknown = await answer(bob, 'sb-zzzzzzzzzzzz');
    expect(unknown.status).toBe(route === 'destroySandbox' ? 200 : 404);
    expect(await answer(bob, own)).toEqual(unknown);
    expect(await answer(bob, nobodys)).toEqual(unknown);
    for (const id of [own, nobodys]) expect((await served.w.store.sandboxes.get(id))?.state).toBe('running');
    const asBob = Object.assign({ 'x-user-id': 'bob' }, ann);
    expect((await answer(asBob, own)).status).toBe(403);
    // What the sandbox itself answers is its own affair, as long as it was asked.
    for (const headers of [all, ann])
      expect([400, 401, 403]).not.toContain((await answer(headers, own)).status);
    tally('authorization', 'every route of a sandbox × key of its owner, of another, of all', {
      trials: 6,
      wrong: 0,
    });
  });

  it('downloads nothing without a code', async () => {
    const id = await spawn(ann);
    for (const headers of [undefined, ann, bob, all]) {
      const { status } = await askSample(`${served.url}/api/v1`, 'downloadFile', headers ?? {}, id);
      expect(status).toBe(401);
    }
  });

  it('lists, counts and prunes the sandboxes of its owner', async () => {
    const ids = [await spawn(ann), await spawn(bob), await spawn(shared)];
    const idsOf = async (headers: Record<string, string> | undefined) => {
      const { body } = await as(headers).call<{ id: string }[]>('GET', '/sandboxes?limit=1000');
      return ids.filter((id) => body.some((row) => row.id === id));
    };
    expect(await Promise.all([ann, bob, all].map(idsOf))).toEqual([[ids[0]], [ids[1]], ids]);
    await served.w.clock.advance(31 * 60_000);
    await as(ann).call('POST', '/sandboxes/prune');
    await as(ann).call('DELETE', '/sandboxes/expired');
    expect(await idsOf(all)).toEqual(ids.slice(1));
    // Whatever the request says: the key is of one owner.
    const { body } = await as(ann).call<{ owner_id?: string }>('POST', '/sandboxes', { owner_id: 'bob' });
    expect(body.owner_id).not.toBe('bob');
  });

  it('shows the exec records of its owner, also of ended sandboxes', async () => {
    const id = await spawn(ann);
    const started = await as(ann).call<{ exec_id: string }>('POST', `/sandboxes/${id}/exec`, {
      ...{ command: 'sleep 9', detach: true },
    });
    expect(started.status).toBe(202);
    const { exec_id } = started.body;
    const paths = ['', `/${exec_id}`, `/${exec_id}/output`].map((more) => `/execs${more}`);
    const asOther = async () => {
      for (const path of paths) {
        const unknown = await as(bob).call('GET', `/sandboxes/sb-zzzzzzzzzzzz${path}`);
        expect(unknown.status).toBe(404);
        expect(seen(await as(bob).call('GET', `/sandboxes/${id}${path}`))).toEqual(seen(unknown));
      }
      const signal = { signal: 'SIGTERM' };
      expect((await as(bob).call('POST', `/sandboxes/${id}/execs/${exec_id}/signal`, signal)).status).toBe(
        404,
      );
    };
    const own = async () => (await as(ann).call<ExecItem[]>('GET', `/sandboxes/${id}/execs`)).body;
    await asOther();
    await as(bob).call('DELETE', `/sandboxes/${id}`);
    expect((await as(ann).call<{ state: string }>('GET', `/sandboxes/${id}`)).body.state).toBe('running');
    await as(ann).destroy(id);
    await asOther();
    expect(await own()).toMatchObject([{ exec_id, actor: 'key:key-1' }]);
  });

  it('reaches the templates of its owner, and cannot change shared ones', async () => {
    const make = (headers: Record<string, string> | undefined, name: string) =>
      as(headers).call('POST', '/templates', { name, image: 'i', env: { TOKEN: name } });
    for (const [headers, name] of [
      [ann, 'anns'],
      [bob, 'bobs'],
      [all, 'of-all'],
    ] as const)
      expect((await make(headers, name)).status).toBe(201);
    const { body } = await as(ann).call<{ name: string }[]>('GET', '/templates');
    expect(body.map(({ name }) => name).sort()).toEqual(['anns', 'of-all']);
    const calls = [
      ['GET', '', undefined],
      ['PUT', '', { image: 'i' }],
      ['DELETE', '', undefined],
      ['POST', '/spawn', {}],
    ] as const;
    const statuses: number[] = [];
    for (const [method, path, request] of calls) {
      const ask = async (name: string) =>
        seen(await as(ann).call(method, `/templates/${name}${path}`, request));
      const [unknown, shared] = [await ask('absent'), await ask('of-all')];
      expect(unknown.status).toBe(404);
      expect(await ask('bobs')).toEqual(unknown);
      statuses.push(shared.status);
      expect(JSON.stringify(shared.body)).not.toContain('TOKEN":"of-all');
    }
    expect(statuses).toEqual([200, 403, 403, 201]);
    expect((await as(ann).call('DELETE', '/templates/anns')).status).toBe(200);
  });

  it('reads the quota of its owner', async () => {
    for (const owner of ['ann', 'bob'])
      await as({ 'x-admin-api-key': ADMIN_KEY }).call('PUT', `/quotas/${owner}`, { max_sandboxes: 1000 });
    const { body } = await as(ann).call<{ owner_id: string }[]>('GET', '/quotas');
    expect(body.map(({ owner_id }) => owner_id)).toEqual(['ann']);
    for (const more of ['', '/usage']) {
      const ask = async (owner: string) => seen(await as(ann).call('GET', `/quotas/${owner}${more}`));
      const [own, unknown] = [await ask('ann'), await ask('nobody')];
      expect([own.status, unknown.status]).toEqual([200, 404]);
      expect(await ask('bob')).toEqual(unknown);
    }
    for (const method of ['PUT', 'DELETE'])
      expect((await as(ann).call(method, '/quotas/ann', method === 'PUT' ? {} : undefined)).status).toBe(403);
  });

  it('reads the events of its owner', async () => {
    const ids = [await spawn(ann), await spawn(bob), await spawn(shared)];
    await served.w.events();
    const sandboxesOf = async (headers: Record<string, string> | undefined, query = '') => {
      const answer = await as(headers).raw(`/events?follow=false&since=0${query}`);
      const events = (await answer.text())
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice(6)) as Event);
      return ids.filter((id) => events.some(({ sandbox_id }) => sandbox_id === id));
    };
    expect(await Promise.all([ann, bob, all].map((headers) => sandboxesOf(headers)))).toEqual([
      [ids[0]],
      [ids[1]],
      ids,
    ]);
    expect(await sandboxesOf(ann, `&sandbox_id=${ids[1]}`)).toEqual([]);
  });
});

describe('in a pool', () => {
  let served: Served;
  beforeAll(async () => {
    // The loader turns enforce_owner on in a pool.
    served = await serve({ auth: Object.assign({ enforce_owner: true }, AUTH), pool: POOL });
  });
  afterAll(() => served.server.close(0));

  it('the key of an owner names the user', async () => {
    const ann = api(served.url, await served.key({ owner_id: 'ann' }));
    const { id, owner_id } = await ann.spawn();
    expect(owner_id).toBe('ann');
    expect((await ann.call<{ id: string }[]>('GET', '/sandboxes')).body.map((row) => row.id)).toEqual([id]);
    expect((await ann.call('POST', `/sandboxes/${id}/exec`, { command: 'true' })).status).toBe(200);
    const bob = api(served.url, await served.key({ owner_id: 'bob' }));
    expect((await bob.call('GET', `/sandboxes/${id}`)).status).toBe(404);
    await ann.destroy(id);
  });

  it.each([
    '/sandboxes',
    '/sandboxes/sb-x',
    '/templates',
    '/quotas/ann',
    '/events?follow=false',
    '/pool/status',
  ])('a key of all owners without X-User-ID is treated as the API key: %s', async (path) => {
    const same = { 'x-request-id': 'same' };
    const ask = async (headers: Record<string, string>) => {
      const answer = await api(served.url).raw(path, { headers: Object.assign({}, headers, same) });
      return { status: answer.status, text: await answer.text() };
    };
    const all = await served.key({});
    expect(await ask(all)).toEqual(await ask(shared));
    expect((await ask(all)).status).toBe(path === '/pool/status' ? 200 : 400);
    const asAnn = { 'x-user-id': 'ann' };
    const named = await ask(Object.assign({}, all, asAnn));
    expect(named).toEqual(await ask(Object.assign({}, shared, asAnn)));
    expect([200, 404]).toContain(named.status);
  });

  it('an administrator must name the user of a sandbox', async () => {
    const keys = [
      await served.key({}),
      await served.key({ scopes: ['admin'] }),
      shared,
      { 'x-api-key': ADMIN_KEY },
    ];
    for (const headers of keys) {
      const { status, body } = await api(served.url, headers).call('POST', '/sandboxes', {});
      expect([status, body]).toMatchObject([
        400,
        { message: expect.stringMatching(/^X-User-ID is missing/) },
      ]);
    }
  });
});
