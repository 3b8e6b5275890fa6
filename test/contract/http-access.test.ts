// Who may do what: every route by every credential and owner, in one table; and the keys, owners and origins at its edge.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PATHS, type RouteId } from '../../src/http/paths.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { fakeControlPlane } from '../support/fake-control-plane.ts';
import { fakeDeps } from '../support/fakes.ts';
import {
  ADMIN_KEY,
  API_KEY,
  type HttpOptions,
  httpConfig,
  startHttp,
  type TestHttp,
} from '../support/http-server.ts';

const WHO: Record<string, Record<string, string>> = {
  nobody: {},
  'wrong key': { 'x-api-key': `${API_KEY.slice(0, -1)}0` },
  'api key': { 'x-api-key': API_KEY },
  'admin key': { 'x-admin-api-key': ADMIN_KEY },
  'admin key in X-API-Key': { 'x-api-key': ADMIN_KEY },
  'api key in the admin header': { 'x-admin-api-key': API_KEY },
  'owner A': { 'x-api-key': API_KEY, 'x-user-id': 'a' },
  'owner B': { 'x-api-key': API_KEY, 'x-user-id': 'b' },
  'bad owner': { 'x-api-key': API_KEY, 'x-user-id': 'a/b' },
  'worker token': { 'x-worker-id': 'w', 'x-worker-token': API_KEY },
};
const OPEN: RouteId[] = ['live', 'ready', 'health', 'openapiJson', 'openapiYaml'];
const refusals = {
  nobody: 401,
  'wrong key': 401,
  'api key in the admin header': 401,
  'worker token': 401,
  'bad owner': 400,
};
/** Statuses of a route outside owners, and of one that names sandboxes while owners are enforced. `undefined`: let in. */
const KEYED: Partial<Record<keyof typeof WHO, number>> = refusals;
const OWNED: Partial<Record<keyof typeof WHO, number>> = { ...refusals, 'api key': 400 };

/** An API key is not enough, whoever holds it. */
const ADMINS: Partial<Record<keyof typeof WHO, number>> = {
  ...refusals,
  ...{ 'api key': 403, 'owner A': 403, 'owner B': 403, 'bad owner': 403 },
};

const BODIES: Partial<Record<RouteId, unknown>> = {
  spawnSandbox: {},
  admitSandbox: {},
  putQuota: {},
  adminPutQuota: {},
  extendSandbox: { ttl: '1h' },
  exec: { command: 'true' },
  signalExec: { signal: 'SIGTERM' },
  createTemplate: { name: 'fresh', image: 'i' },
  updateTemplate: { image: 'i' },
  spawnTemplate: {},
  writeFile: { path: '/f', content: '' },
  putFile: { content: '' },
  moveFile: { old_path: '/f', new_path: '/g' },
  chmodFile: { path: '/f', mode: '644' },
  makeDirectory: { path: '/d' },
};
const QUERIES: Partial<Record<RouteId, string>> = {
  readFile: '?path=/f',
  removeFile: '?path=/f',
  statFile: '?path=/f',
  globFiles: '?pattern=/*',
  events: '?follow=false',
};

let http: TestHttp;
const auth = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY, enforce_owner: true };
beforeAll(async () => {
  http = await startHttp({ auth });
  http.control.fileMap.set('/f', Buffer.from('x'));
});
afterAll(() => http.server.close(0));

async function ask(id: RouteId, headers: Record<string, string>, target: TestHttp = http) {
  const [method = '', path = ''] = PATHS[id].split(' ');
  const url = `${target.base}${path.replace('{path}', 'f').replace('{name}', 'userspace').replace('{id}', 'sb-x').replace('{owner_id}', 'a')}${QUERIES[id] ?? ''}`;
  const body = BODIES[id];
  const answer = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

describe('every route by every credential', () => {
  const cells = (Object.keys(PATHS) as RouteId[]).flatMap((id) =>
    Object.keys(WHO).map((who) => [id, who] as const),
  );

  it.each(cells)('%s by %s', async (id, who) => {
    http.control.asked.length = 0;
    http.control.templateMap.clear();
    const owned = / \/(?:sandboxes|events|templates\/.*\/spawn|quotas\/\{)/.test(PATHS[id]);
    const forAdmins = PATHS[id].includes(' /admin/');
    const refusal = OPEN.includes(id) ? undefined : (forAdmins ? ADMINS : owned ? OWNED : KEYED)[who];
    const { status } = await ask(id, WHO[who]!);
    if (refusal !== undefined) {
      expect(status).toBe(refusal);
      expect(http.control.asked).toEqual([]);
      return;
    }
    // The fake has no sandbox of this name: what is let in may end there.
    expect([200, 201, 202, 404, 426]).toContain(status);
    const caller = http.control.asked[0]?.caller;
    if (!caller) return;
    expect(caller.role).toBe(who.startsWith('admin') ? 'admin' : 'api');
    expect(caller.owner).toBe(who === 'owner A' ? 'a' : who === 'owner B' ? 'b' : undefined);
    expect(JSON.stringify(caller)).not.toContain(API_KEY.slice(0, 12));
  });
});

describe('health', () => {
  it('shows words only without a key, and all with one', async () => {
    for (const headers of [WHO.nobody!, WHO['wrong key']!]) {
      expect(JSON.parse((await ask('live', headers)).text)).toEqual({ status: 'alive' });
      expect(JSON.parse((await ask('ready', headers)).text)).toEqual({ status: 'ready' });
    }
    expect(JSON.parse((await ask('health', WHO['api key']!)).text)).toHaveProperty('version');
  });
});

describe('one connection', () => {
  it('proves each key anew when it changes', async () => {
    const { connect } = await import('node:net');
    const socket = connect(http.port, '127.0.0.1').setEncoding('utf8');
    const send = (headers: Record<string, string>) =>
      new Promise<string>((resolve) => {
        socket.once('data', (text) => resolve(String(text).slice(9, 12)));
        const lines = Object.entries({ host: 'x', ...headers }).map(
          ([name, value]) => `${name}: ${value}\r\n`,
        );
        socket.write(`GET /api/v1/providers HTTP/1.1\r\n${lines.join('')}\r\n`);
      });
    const statuses = [];
    for (const who of [
      'api key',
      'nobody',
      'api key',
      'wrong key',
      'admin key',
      'api key in the admin header',
      'api key',
    ]) {
      statuses.push(await send(WHO[who]!));
    }
    socket.destroy();
    expect(statuses).toEqual(['200', '401', '200', '401', '200', '401', '200']);
  });
});

describe('other settings', () => {
  const roleWith = async (options: HttpOptions, headers: Record<string, string>) => {
    const target = await startHttp(options);
    const { status } = await ask('getSandbox', headers, target);
    const caller = target.control.asked[0]?.caller;
    await target.server.close(0);
    return [status, caller?.role, caller?.owner];
  };

  it('lets everybody in as nobody with authentication off', async () => {
    expect(await roleWith({}, {})).toEqual([404, 'anonymous', undefined]);
    expect(await roleWith({}, WHO['wrong key']!)).toEqual([404, 'anonymous', undefined]);
    expect(await roleWith({ auth: { admin_api_key: ADMIN_KEY } }, WHO['admin key']!)).toEqual([
      404,
      'admin',
      undefined,
    ]);
    expect(await roleWith({ auth: { enforce_owner: true } }, {})).toEqual([400, undefined, undefined]);
    expect(await roleWith({ auth: { enforce_owner: true } }, { 'x-user-id': ' a ' })).toEqual([
      404,
      'anonymous',
      'a',
    ]);
  });

  it('lets only admins write quotas where it is said so', async () => {
    const statusOf = async (more: HttpOptions['auth'], id: RouteId, who: string) => {
      const target = await startHttp({ auth: { ...auth, ...more } });
      const { status } = await ask(id, WHO[who]!, target);
      await target.server.close(0);
      return status;
    };
    const admin = { quota_writes: 'admin' } as const;
    expect(await statusOf({}, 'putQuota', 'owner A')).toBe(200);
    expect(await statusOf(admin, 'putQuota', 'owner A')).toBe(403);
    expect(await statusOf(admin, 'deleteQuota', 'owner A')).toBe(403);
    expect(await statusOf(admin, 'putQuota', 'admin key')).toBe(200);
    expect(await statusOf(admin, 'getQuota', 'owner A')).toBe(404);
    const off = { enabled: false, enforce_owner: false } as const;
    expect(await statusOf({ ...admin, ...off }, 'putQuota', 'nobody')).toBe(403);
  });

  it('opens admin routes by the API key, or to nobody, where there is no admin key', async () => {
    const listed = async (more: HttpOptions['auth'], who: string) => {
      const target = await startHttp({ auth: { enabled: true, api_key: API_KEY, ...more } });
      const { status } = await ask('adminListQuotas', WHO[who]!, target);
      await target.server.close(0);
      return status;
    };
    expect(await listed({}, 'api key')).toBe(200);
    expect(await listed({}, 'api key in the admin header')).toBe(200);
    expect(await listed({}, 'nobody')).toBe(401);
    expect(await listed({ admin_fallback_enabled: false }, 'api key')).toBe(403);
    const off = { enabled: false } as const;
    expect(await listed(off, 'nobody')).toBe(200);
    expect(await listed({ ...off, admin_fallback_enabled: false }, 'nobody')).toBe(403);
  });

  it('never makes an admin of a tenant that holds the only key', async () => {
    const only = { enabled: true, api_key: API_KEY, enforce_owner: true };
    expect(await roleWith({ auth: only }, WHO['owner A']!)).toEqual([404, 'api', 'a']);
    expect(await roleWith({ auth: only }, WHO['api key']!)).toEqual([400, undefined, undefined]);
  });

  it.each([
    [{ server: { host: '0.0.0.0' } }, 'loopback only'],
    [{ server: { host: 'example.com' } }, 'loopback only'],
    [{ auth: { enabled: true } }, 'no key'],
  ])('does not start with %o', (options, words) => {
    const deps = { ...fakeDeps(), control: fakeControlPlane(), config: httpConfig(options), version: '0' };
    expect(() => createHttpServer(deps)).toThrow(words);
  });
});

describe('headers that mean two things', () => {
  const names = ['X-API-Key', 'X-Admin-API-Key', 'X-User-ID', 'Idempotency-Key', 'Content-Type'];
  const casings = [
    (name: string) => name,
    (name: string) => name.toLowerCase(),
    (name: string) => name.toUpperCase(),
    (name: string) => name.replace(/[aeiou]/gi, (letter) => letter.toUpperCase()),
  ];
  const pairs = names.flatMap((name) =>
    casings.flatMap((first) => casings.slice(1).map((second) => [first(name), second(name)] as const)),
  );

  it.each(pairs)('%s and %s together are refused', async (first, second) => {
    const { rawExchange } = await import('../support/http-server.ts');
    const head = `POST /api/v1/sandboxes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${first}: ${API_KEY}\r\nX-Other: 1\r\n${second}: ${API_KEY}\r\n\r\n`;
    const { text } = await rawExchange(http.port, head);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('more than once');
  });
});

describe('cross-origin', () => {
  let listed: TestHttp;
  beforeAll(async () => {
    listed = await startHttp({ auth, server: { cors_allowed_origins: ['https://app.example.com'] } });
  });
  afterAll(() => listed.server.close(0));
  const preflight = (origin: string, path = '/sandboxes') =>
    fetch(listed.base + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-api-key',
      },
    });

  it.each(['/sandboxes', '/sandboxes/x/files/any/where', '/nope'])(
    'answers a preflight for %s without a key',
    async (path) => {
      const answer = await preflight('https://app.example.com', path);
      expect([
        answer.status,
        answer.headers.get('access-control-allow-origin'),
        answer.headers.get('vary'),
      ]).toEqual([204, 'https://app.example.com', 'Origin']);
      expect(answer.headers.get('access-control-allow-headers')).toContain('X-API-Key');
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  it('refuses others in our shape', async () => {
    const answer = await preflight('https://evil.example.com');
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, 'forbidden']);
    expect((await preflight(listed.url)).status).toBe(204);
  });

  it('puts its headers on refusals too, so that a page can read them', async () => {
    const answer = await fetch(`${listed.base}/sandboxes`, {
      headers: { origin: 'https://app.example.com' },
    });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([
      401,
      'https://app.example.com',
    ]);
    const other = await fetch(`${listed.base}/live`, { headers: { origin: 'https://evil.example.com' } });
    expect([other.status, other.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  });
});
