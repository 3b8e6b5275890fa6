// Who may do what: every route by every credential under every setting, in one table; and the keys and origins at its
// edge. Whose records a caller sees is in http-owners.test.ts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tally } from '../../proof/tally.ts';
import type { Caller } from '../../src/control/api/caller.ts';
import { PATHS, type RouteId } from '../../src/http/paths.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { createHttpServer } from '../../src/http/server.ts';
import type { Config } from '../../src/schema/config.ts';
import { askSample, ROUTE_IDS, type RouteKind, SAMPLES } from '../support/checks/route-samples.ts';
import { fixedConfig } from '../support/config.ts';
import { fakeControlPlane } from '../support/fakes/control-plane.ts';
import { fakeDeps } from '../support/fakes/ports.ts';
import {
  ADMIN_KEY,
  API_KEY,
  type HttpOptions,
  httpConfig,
  startHttp,
  type TestHttp,
} from '../support/servers/http-server.ts';

const WORKER_TOKEN = 'worker-token-0123456789abcdef0123456789';

const WHO: Record<string, Record<string, string>> = {
  nobody: {},
  'wrong key': { 'x-api-key': `${API_KEY.slice(0, -1)}0` },
  'empty key': { 'x-api-key': '' },
  'api key': { 'x-api-key': API_KEY },
  'admin key': { 'x-admin-api-key': ADMIN_KEY },
  'admin key in X-API-Key': { 'x-api-key': ADMIN_KEY },
  'api key in the admin header': { 'x-admin-api-key': API_KEY },
  'both keys': { 'x-api-key': API_KEY, 'x-admin-api-key': ADMIN_KEY },
  'api key, wrong admin key': { 'x-api-key': API_KEY, 'x-admin-api-key': 'x' },
  'owner A': { 'x-api-key': API_KEY, 'x-user-id': 'a' },
  'admin for A': { 'x-api-key': ADMIN_KEY, 'x-user-id': 'a' },
  'bad owner': { 'x-api-key': API_KEY, 'x-user-id': 'a/b' },
  'worker token': { 'x-worker-id': 'w', 'x-worker-token': WORKER_TOKEN },
};

const BOTH = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY };
const ONE = { enabled: true, api_key: API_KEY };
const SETUPS: Record<string, Partial<Config['auth']>> = {
  'both keys': BOTH,
  'both keys, owners': { ...BOTH, enforce_owner: true },
  'one key': ONE,
  'one key, owners': { ...ONE, enforce_owner: true },
  'one key, no fallback': { ...ONE, admin_fallback_enabled: false },
  off: {},
  'off, owners': { enforce_owner: true },
  'off, admin key': { admin_api_key: ADMIN_KEY },
  'off, no fallback': { admin_fallback_enabled: false },
};

/** A status for each of WHO in its order; `in` is let in. */
const TABLE: Record<string, Record<Exclude<RouteKind, 'open' | 'coded' | 'worker'>, string>> = {
  //                    nobody wrong empty api in-admin in-api api-in-admin both api+wrong A admin-A bad worker
  'both keys': {
    keyed: '            401    401   401   in  in       in     401          in   in        in in     400 401',
    owned: '            401    401   401   in  in       in     401          in   in        in in     400 401',
    admin: '            401    401   401   403 in       in     401          in   403      403 in     403 401',
  },
  'both keys, owners': {
    keyed: '            401    401   401   in  in       in     401          in   in        in in     400 401',
    owned: '            401    401   401   400 in       in     401          in   400       in in     400 401',
    admin: '            401    401   401   403 in       in     401          in   403      403 in     403 401',
  },
  'one key': {
    keyed: '            401    401   401   in  401      401    in           in   in        in 401    400 401',
    owned: '            401    401   401   in  401      401    in           in   in        in 401    400 401',
    admin: '            401    401   401   in  401      401    in           in   in        in 401    400 401',
  },
  'one key, owners': {
    keyed: '            401    401   401   in  401      401    in           in   in        in 401    400 401',
    owned: '            401    401   401   400 401      401    400          400  400       in 401    400 401',
    admin: '            401    401   401   in  401      401    in           in   in        in 401    400 401',
  },
  'one key, no fallback': {
    keyed: '            401    401   401   in  401      401    401          in   in        in 401    400 401',
    owned: '            401    401   401   in  401      401    401          in   in        in 401    400 401',
    admin: '            401    401   401   403 401      401    401          403  403      403 401    403 401',
  },
  off: {
    keyed: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    owned: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    admin: '            in     in    in    in  in       in     in           in   in        in in     400 in',
  },
  'off, owners': {
    keyed: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    owned: '            400    400   400   400 400      400    400          400  400       in in     400 400',
    admin: '            in     in    in    in  in       in     in           in   in        in in     400 in',
  },
  'off, admin key': {
    keyed: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    owned: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    admin: '            401    401   401   401 in       in     401          in   401      401 in     401 401',
  },
  'off, no fallback': {
    keyed: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    owned: '            in     in    in    in  in       in     in           in   in        in in     400 in',
    admin: '            403    403   403   403 403      403    403          403  403      403 403    403 403',
  },
};

/** Of routes of workers, under every setting: no key opens them, and none is needed. */
const OF_WORKERS =
  '                     401    401   401   401 401      401    401          401  401      401 401    401 in';

describe('the access table', () => {
  it('has a sample for every route', () =>
    expect(Object.keys(SAMPLES).sort()).toEqual([...ROUTE_IDS].sort()));

  it('gives every sample the kind that its path and key imply', () => {
    for (const { id, auth, owned } of ROUTES)
      expect([id, SAMPLES[id].kind]).toEqual([
        id,
        auth in KIND ? KIND[auth as keyof typeof KIND] : owned ? 'owned' : 'keyed',
      ]);
    for (const id of ROUTE_IDS)
      expect([id, SAMPLES[id].kind === 'admin']).toEqual([
        id,
        PATHS[id].includes(' /admin') || WRITES_IMAGES.includes(id),
      ]);
  });

  it('has a cell for every caller in every row', () => {
    expect(Object.keys(TABLE)).toEqual(Object.keys(SETUPS));
    for (const row of [OF_WORKERS, ...Object.values(TABLE).flatMap((rows) => Object.values(rows))])
      expect(row.trim().split(/ +/)).toHaveLength(Object.keys(WHO).length);
  });
});
const KIND = {
  none: 'open',
  code: 'coded',
  optional: 'open',
  admin: 'admin',
  image_write: 'admin',
  worker: 'worker',
} as const;

/** Of administrators unless images.writes is api. */
const WRITES_IMAGES: RouteId[] = ['pullImage', 'importImage', 'tagImage', 'pruneImages', 'deleteImage'];

describe.each(Object.keys(SETUPS))('with %s, every route by every credential', (setup) => {
  const auth = { ...SETUPS[setup]!, worker_token: WORKER_TOKEN };
  let target: TestHttp;
  beforeAll(async () => {
    target = await startHttp({ auth });
    target.control.fileMap.set('/f', Buffer.from('x'));
  });
  afterAll(() => target.server.close(0));

  it.each(Object.keys(WHO).map((who, column) => [who, column] as const))('%s', async (who, column) => {
    const wrong: string[] = [];
    for (const id of ROUTE_IDS) {
      const { kind } = SAMPLES[id];
      if (kind === 'coded') {
        // Keys neither help nor harm.
        const { status } = await askSample(target.base, id, WHO[who]!);
        if (status !== 401) wrong.push(`${id}: ${status} instead of 401`);
        continue;
      }
      const row = kind === 'open' ? undefined : kind === 'worker' ? OF_WORKERS : TABLE[setup]![kind];
      const expected = row === undefined ? 'in' : row.trim().split(/ +/)[column];
      target.control.asked.length = 0;
      const { status } = await askSample(target.base, id, WHO[who]!);
      // The fake has no sandbox of this name, and a template of another: what is let in may end there.
      const found = [200, 201, 202, 404, 409, 426].includes(status) ? 'in' : String(status);
      if (found !== expected) wrong.push(`${id}: ${status} instead of ${expected}`);
      if (found !== 'in') expect(target.control.asked).toEqual([]);
      const caller = target.control.asked[0]?.caller;
      if (caller) checkCaller(caller, who, auth);
    }
    const counts = { trials: ROUTE_IDS.length, wrong: wrong.length };
    tally('authorization', 'every route × credential × setting', counts);
    expect(wrong).toEqual([]);
  });
});

function checkCaller(caller: Caller, who: string, auth: Partial<Config['auth']>): void {
  expect(caller.role).toBe(roleOf(who, auth));
  expect(caller.actor).toMatch(
    /^(?:admin:X-API-Key|admin:X-Admin-API-Key|api:X-API-Key|api:X-Admin-API-Key|anonymous)$/,
  );
  expect(caller.owner).toBe(WHO[who]!['x-user-id']);
  expect(JSON.stringify(caller)).not.toContain(API_KEY.slice(0, 12));
}

/** Of one who is let in. Under owner enforcement the only key is every tenant's, so it is no admin's. */
function roleOf(
  who: string,
  { enabled, admin_api_key, enforce_owner, ...auth }: Partial<Config['auth']>,
): string {
  const holdsAdmin = who.startsWith('admin') || who === 'both keys';
  if (admin_api_key !== undefined && holdsAdmin) return 'admin';
  if (!enabled) return 'anonymous';
  const standsIn = admin_api_key === undefined && auth.admin_fallback_enabled !== false;
  return standsIn && !enforce_owner ? 'admin' : 'api';
}

let http: TestHttp;
const auth = { ...BOTH, enforce_owner: true };
beforeAll(async () => {
  http = await startHttp({ auth });
});
afterAll(() => http.server.close(0));
const ask = (id: RouteId, headers: Record<string, string>, target: TestHttp = http) =>
  askSample(target.base, id, headers);

describe('health', () => {
  it('shows only status words without a key, and everything with one', async () => {
    for (const headers of [WHO.nobody!, WHO['wrong key']!]) {
      expect(JSON.parse((await ask('live', headers)).text)).toEqual({ status: 'alive' });
      expect(JSON.parse((await ask('ready', headers)).text)).toEqual({ status: 'ready' });
    }
    expect(JSON.parse((await ask('health', WHO['api key']!)).text)).toHaveProperty('version');
  });
});

describe('one connection', () => {
  it('checks each new key that it carries', async () => {
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

  it('admits every caller as anonymous with authentication off', async () => {
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

  it('lets only administrators write quotas where configured', async () => {
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
    expect(await statusOf({ ...admin, ...off }, 'putQuota', 'nobody')).toBe(401);
  });

  it('lets API keys write images where configured', async () => {
    const statusesOf = async (more: HttpOptions, who: string) => {
      const target = await startHttp({ auth, ...more });
      const statuses = [];
      for (const id of WRITES_IMAGES) statuses.push((await ask(id, WHO[who]!, target)).status);
      await target.server.close(0);
      return [...new Set(statuses)];
    };
    expect(await statusesOf({}, 'owner A')).toEqual([403]);
    expect(await statusesOf({}, 'admin key')).toEqual([200]);
    expect(await statusesOf({ images: { writes: 'api' } }, 'owner A')).toEqual([200]);
    expect(await statusesOf({ images: { writes: 'api' } }, 'nobody')).toEqual([401]);
  });

  it('never makes a tenant with the only key an administrator', async () => {
    const only = { enabled: true, api_key: API_KEY, enforce_owner: true };
    expect(await roleWith({ auth: only }, WHO['owner A']!)).toEqual([404, 'api', 'a']);
    expect(await roleWith({ auth: only }, WHO['api key']!)).toEqual([400, undefined, undefined]);
  });

  it.each([
    [{ server: { host: '0.0.0.0' } }, 'only on loopback'],
    [{ server: { host: 'example.com' } }, 'only on loopback'],
    [{ auth: { enabled: true } }, 'api_key is not set'],
  ])('does not start with %o', (options, words) => {
    const deps = {
      ...fakeDeps(),
      control: fakeControlPlane(),
      config: fixedConfig(httpConfig(options)),
      version: '0',
    };
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
    const { rawExchange } = await import('../support/servers/http-server.ts');
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

  it('refuses other origins in the shape of every error', async () => {
    const answer = await preflight('https://evil.example.com');
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, 'forbidden']);
    expect((await preflight(listed.url)).status).toBe(204);
  });

  it('puts the headers on refusals too, so that a page can read them', async () => {
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
