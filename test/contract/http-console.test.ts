// The console as the server sends it: headers, encodings, addresses below a prefix, and what it does not answer. And the sessions by
// which it is used. Its screens are in e2e/console.test.ts.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';
import { createHttpServer, type HttpServer } from '../../src/http/server.ts';
import type { Identity, LoginCode, Session, SessionWithToken } from '../../src/schema/session.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { api } from '../support/servers/api.ts';
import { admin, type World, world } from '../support/servers/control.ts';
import { ADMIN_KEY, API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const folder = join(packageRoot(), 'dist/console');
const HTML = { accept: 'text/html,*/*' };

describe('the page', () => {
  let http: TestHttp;
  beforeAll(async () => {
    http = await startHttp({ auth: { enabled: true, api_key: API_KEY }, consoleFolder: folder });
  });
  afterAll(() => http.server.close(0));
  const ask = (path: string, headers: Record<string, string> = HTML, method = 'GET') =>
    fetch(`${http.url}${path}`, { method, headers, redirect: 'manual' });

  it.each([
    ['/console/', './'],
    ['/console/sandboxes', './'],
    ['/console/sandboxes/sb-a', '../'],
    ['/console/a/b/c?x=1/2', '../../'],
    ['/docs', './console/'],
  ])('%s has the base %s', async (path, base) => {
    const answer = await ask(path);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(`<base href="${base}">`);
  });

  it('has a strict policy with a nonce of its own', async () => {
    const answers = await Promise.all([ask('/console/'), ask('/console/')]);
    const [first, second] = answers.map(({ headers }) => headers.get('content-security-policy') ?? '');
    expect(first).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[\w-]{36}'; /);
    for (const part of [
      "frame-ancestors 'none'",
      "base-uri 'self'",
      "trusted-types 'none'",
      "form-action 'none'",
    ])
      expect(first).toContain(part);
    expect(first).not.toContain('unsafe');
    expect(first).not.toBe(second);
    const { headers } = answers[0]!;
    expect(
      [
        'cache-control',
        'x-content-type-options',
        'x-frame-options',
        'referrer-policy',
        'cross-origin-opener-policy',
      ].map((name) => headers.get(name)),
    ).toEqual(['no-store', 'nosniff', 'DENY', 'no-referrer', 'same-origin']);
    expect(headers.get('set-cookie')).toBeNull();
  });

  it('leads from / and /console by a relative address', async () => {
    for (const [path, status] of [
      ['/', 307],
      ['/console', 308],
    ] as const) {
      const answer = await ask(path);
      expect([answer.status, answer.headers.get('location')]).toEqual([status, 'console/']);
    }
  });

  it.each([
    ['/console/', { accept: 'application/json' }, 'GET', 404],
    ['/', { accept: 'application/json' }, 'GET', 404],
    ['/console/', HTML, 'POST', 404],
    ['/console/assets/manifest.json', HTML, 'GET', 404],
    ['/console/assets/..%2fmanifest.json', HTML, 'GET', 404],
    ['/console/assets/%2e%2e%2f%2e%2e%2fpackage.json', HTML, 'GET', 404],
    ['/console/assets/a%00b.js', HTML, 'GET', 404],
    ['/consolex', HTML, 'GET', 404],
  ] as const)('%s with %o by %s is %i', async (path, headers, method, status) => {
    const answer = await ask(path, headers, method);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      status,
      'application/json; charset=utf-8',
    ]);
  });

  it('sends its files compressed, once, and 304 after that', async () => {
    const page = await (await ask('/console/')).text();
    const names = [...page.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) {
      const path = `/console/${name}`;
      const plain = Buffer.from(await (await ask(path, { 'accept-encoding': 'identity' })).arrayBuffer());
      const raw = await ask(path, { 'accept-encoding': 'br;q=0, gzip' });
      expect(raw.headers.get('content-encoding')).toBe('gzip');
      expect(raw.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      const etag = raw.headers.get('etag') ?? '';
      expect(Buffer.from(await raw.arrayBuffer())).toEqual(plain);
      const again = await ask(path, { 'accept-encoding': 'gzip', 'if-none-match': etag });
      expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
      const head = await ask(path, {}, 'HEAD');
      expect([head.status, (await head.arrayBuffer()).byteLength]).toEqual([200, 0]);
    }
  });

  it('is the description at the root, too', async () => {
    const [root, below] = await Promise.all([ask('/openapi.json'), ask('/api/v1/openapi.json')]);
    expect(await root.text()).toBe(await below.text());
  });

  it('is logged at debug, under its name', async () => {
    http.logger.lines.length = 0;
    await ask('/console/');
    expect(http.logger.lines.filter(({ message }) => message === 'request')).toMatchObject([
      { level: 'debug', fields: { route: 'console', status: 200 } },
    ]);
  });
});

it.each([
  ['where it is switched off', { console: { enabled: false } }],
  ['on a network without keys', { server: { host: '0.0.0.0', allow_insecure: true } }],
])('is not served %s', async (_where, options) => {
  const http = await startHttp(Object.assign({ consoleFolder: folder }, options));
  const port = http.port;
  for (const path of ['/console/', '/console', '/docs', '/'])
    expect(
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers: HTML, redirect: 'manual' })).status,
    ).toBe(404);
  await http.server.close(0);
});

describe('sessions', () => {
  let w: World;
  let server: HttpServer;
  let url: string;
  const serve = async (auth: object = {}) => {
    w = world({
      server: { port: 0 },
      auth: { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY, ...auth },
    });
    server = createHttpServer(Object.assign({ version: '0' }, w));
    url = await server.listen();
  };
  beforeAll(() => serve());
  afterAll(() => server.close(0));
  const as = (key: string, more: Record<string, string> = {}) => api(url, { 'x-api-key': key, ...more });
  const open = async (key: string, body: object = {}) => {
    const { status, body: session } = await as(key).call<SessionWithToken>('POST', '/sessions', body);
    expect(status).toBe(201);
    return session;
  };
  const who = (key: string) => as(key).call<Identity>('GET', '/sessions/current');

  it('have the rights of their key and its name in the audit', async () => {
    const session = await open(ADMIN_KEY);
    expect(session).toMatchObject({
      scopes: ['admin'],
      actor: 'admin:X-API-Key',
      token: expect.stringMatching(/^svcs_/),
    });
    const { body } = await who(session.token);
    expect(body).toMatchObject({
      administers: true,
      bound: false,
      actor: 'admin:X-API-Key',
      session: { id: session.id },
    });
    expect(JSON.stringify(body)).not.toContain(session.token);
    const user = await open(API_KEY);
    expect((await who(user.token)).body).toMatchObject({ administers: false });
    expect((await as(user.token).call('GET', '/admin/sessions')).status).toBe(403);
    const { secret } = await w.control.keys.create({ name: 'reads', scopes: ['read'] }, admin);
    const reads = await open(secret);
    expect((await as(reads.token).call('POST', '/sandboxes', {})).status).toBe(403);
  });

  it('of one owner act for that owner and do not administer', async () => {
    const { token } = await open(ADMIN_KEY, { owner_id: 'ann' });
    expect((await who(token)).body).toMatchObject({ owner_id: 'ann', bound: true, administers: false });
    expect((await as(token, { 'x-user-id': 'bob' }).call('GET', '/sandboxes')).status).toBe(403);
    const { secret } = await w.control.keys.create({ name: 'anns', owner_id: 'ann' }, admin);
    expect((await as(secret).call('POST', '/sessions', { owner_id: 'bob' })).status).toBe(403);
  });

  it('open no session, and a key renews and ends none', async () => {
    const { token } = await open(ADMIN_KEY);
    expect((await as(token).call('POST', '/sessions', {})).status).toBe(403);
    expect((await as(ADMIN_KEY).call('DELETE', '/sessions/current')).status).toBe(409);
    expect((await as(ADMIN_KEY).call('POST', '/sessions/current/renew')).status).toBe(409);
  });

  const codeFor = async (key: string, body: object = {}, more: Record<string, string> = {}) => {
    const { status, body: found } = await as(key, more).call<LoginCode>('POST', '/sessions/codes', body);
    expect(status).toBe(201);
    return found.code;
  };
  const exchange = (code: string) =>
    api(url, {}).call<SessionWithToken>('POST', '/sessions/exchange', { code });

  it('are opened by a code once, within a minute, with the rights of its key', async () => {
    const code = await codeFor(ADMIN_KEY);
    expect(code).toMatch(/^svcc_/);
    expect((await who(code)).status).toBe(401);
    const { status, body } = await exchange(code);
    expect([status, body.actor, body.scopes]).toEqual([201, 'admin:X-API-Key', ['admin']]);
    expect((await who(body.token)).body).toMatchObject({ administers: true });
    expect((await exchange(code)).status).toBe(401);
    const anns = await exchange(await codeFor(ADMIN_KEY, {}, { 'x-user-id': 'ann' }));
    expect((await who(anns.body.token)).body).toMatchObject({ owner_id: 'ann', administers: false });
    const late = await codeFor(API_KEY);
    await w.clock.advance(61_000);
    expect((await exchange(late)).status).toBe(401);
    const sessions = (await as(ADMIN_KEY).call<Session[]>('GET', '/admin/sessions')).body;
    expect(sessions.every(({ id }) => id.startsWith('ses-'))).toBe(true);
  });

  it('are not opened by a code whose key has ended, by one of a session, or by one that was made up', async () => {
    const { id, secret } = await w.control.keys.create({ name: 'soon-gone' }, admin);
    const code = await codeFor(secret);
    await w.control.keys.revoke(id, admin);
    expect((await exchange(code)).status).toBe(401);
    const { token } = await open(ADMIN_KEY);
    expect((await as(token).call('POST', '/sessions/codes', {})).status).toBe(403);
    const real = await codeFor(API_KEY);
    for (const wrong of ['x', `${real.slice(0, -1)}_`, `${real.slice(0, 6)}A${real.slice(7)}`, 'svcc_'])
      expect((await exchange(wrong)).status).toBe(401);
    expect((await exchange(real)).status).toBe(201);
  });

  it('are opened by no code that differs from a real one in anything', async () => {
    const random = seededRandom(27);
    const real = await codeFor(API_KEY);
    const below = (most: number) => random.bytes(2).readUInt16BE() % most;
    const changed = (at: number, by: string) => real.slice(0, at) + by + real.slice(at + 1);
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const wrong = new Set([
      ...Array.from({ length: 150 }, () => changed(below(real.length), letters[below(64)]!)),
      ...Array.from({ length: 30 }, () => changed(below(real.length), random.bytes(1).toString('latin1'))),
      // The last letter has two bits that mean nothing.
      ...[...letters].map((letter) => real.slice(0, -1) + letter),
      ...[real.toLowerCase(), real.toUpperCase(), ` ${real}`, `${real}\n`, `${real}=`, `${real}${real}`],
      ...[real.slice(5), real.replace('svcc_', 'svcs_'), real.split('').reverse().join(''), `${real}\0`],
    ]);
    wrong.delete(real);
    for (const code of wrong)
      expect([code, [400, 401].includes((await exchange(code)).status)]).toEqual([code, true]);
    expect((await exchange(real)).status).toBe(201);
    // It says what it is for: one of a download opens no login, and the other way round.
    const login = await codeFor(API_KEY);
    const path = `/sandboxes/sb-aaaaaaaaaaaa/files/download?path=/f&code=${login}`;
    expect((await api(url, {}).call('GET', path)).status).toBe(401);
    expect((await exchange(login)).status).toBe(201);
  });

  it('are opened once by a code that several send at the same time', async () => {
    const code = await codeFor(API_KEY);
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(code)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  it('codes of one key are bounded: the oldest give way', async () => {
    const codes: string[] = [];
    for (let n = 0; n < 101; n += 1) codes.push(await codeFor(API_KEY));
    expect((await exchange(codes[0]!)).status).toBe(401);
    expect((await exchange(codes[1]!)).status).toBe(201);
  });

  it('end at logout, by an administrator, and with their key', async () => {
    const gone = async (token: string) => {
      const { status, body } = await who(token);
      expect([status, (body as unknown as { details: unknown }).details]).toEqual([
        401,
        { reason: 'session_ended' },
      ]);
    };
    const own = await open(ADMIN_KEY);
    expect((await as(own.token).call('DELETE', '/sessions/current')).status).toBe(200);
    await gone(own.token);
    const other = await open(API_KEY);
    const listed = await as(ADMIN_KEY).call<Session[]>('GET', '/admin/sessions');
    expect(listed.body.map(({ id }) => id)).toContain(other.id);
    expect((await as(ADMIN_KEY).call('DELETE', `/admin/sessions/${other.id}`)).status).toBe(200);
    await gone(other.token);
    const key = await w.control.keys.create({ name: 'turns' }, admin);
    const turned = await open(key.secret);
    const revoked = await open(key.secret);
    await w.clock.advance(1000);
    await w.control.keys.rotate(key.id, { overlap: '24h' });
    await gone(turned.token);
    await gone(revoked.token);
  });

  it('end when nobody renews them, and at the latest after their longest time', async () => {
    const { token, expires_at, ends_at, created_at } = await open(ADMIN_KEY);
    const minutes = (stamp: string) => (Date.parse(stamp) - Date.parse(created_at)) / 60_000;
    expect([minutes(expires_at), minutes(ends_at)]).toEqual([30, 720]);
    await w.clock.advance(20 * 60_000);
    const renewed = await as(token).call<Session>('POST', '/sessions/current/renew');
    expect([renewed.status, minutes(renewed.body.expires_at)]).toEqual([200, 50]);
    await w.clock.advance(29 * 60_000);
    expect((await who(token)).status).toBe(200);
    await w.clock.advance(2 * 60_000);
    expect((await who(token)).status).toBe(401);
  });

  it('are bounded: the one that would end first gives way', async () => {
    await server.close(0);
    w = world({
      server: { port: 0 },
      auth: { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY },
      console: { max_sessions: 2 },
    });
    server = createHttpServer(Object.assign({ version: '0' }, w));
    url = await server.listen();
    const tokens: string[] = [];
    for (let count = 0; count < 3; count++) {
      tokens.push((await open(ADMIN_KEY)).token);
      await w.clock.advance(1000);
    }
    expect(await Promise.all(tokens.map(async (token) => (await who(token)).status))).toEqual([
      401, 200, 200,
    ]);
    expect(await w.store.sessions.all()).toHaveLength(2);
  });

  it('need an owner where owners are enforced, and are not needed without authentication', async () => {
    await server.close(0);
    await serve({ enforce_owner: true });
    expect((await as(API_KEY).call('POST', '/sessions', {})).status).toBe(400);
    const { token } = await open(API_KEY, { owner_id: 'ann' });
    expect((await as(token).call('GET', '/sandboxes')).status).toBe(200);
    await server.close(0);
    await serve({ enabled: false });
    expect((await api(url, {}).call('POST', '/sessions', {})).status).toBe(409);
    expect((await api(url, {}).call<Identity>('GET', '/sessions/current')).body).toMatchObject({
      authentication: false,
    });
    expect((await who(token)).body).not.toHaveProperty('session');
  });
});
