// Rate limits over HTTP: which calls count, for whom, what the answers say, and what a wrong key costs.
import { afterEach, describe, expect, it } from 'vitest';
import { isKeyed } from '../../src/http/caller.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { askSample } from '../support/checks/route-samples.ts';
import { type FakeClock, fakeClock } from '../support/fakes/ports.ts';
import {
  ADMIN_KEY,
  API_KEY,
  type HttpOptions,
  startHttp,
  type TestHttp,
} from '../support/servers/http-server.ts';

const KEY = { 'x-api-key': API_KEY };
const auth = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY };
const BURST = 5;

let http: TestHttp;
afterEach(() => http.server.close(0));

/** 60 a minute, 5 at once. Time stands still. */
async function start(options: HttpOptions = {}): Promise<FakeClock> {
  const clock = fakeClock();
  http = await startHttp({ auth, ...options, clock, rate_limit: { enabled: true, ...options.rate_limit } });
  return clock;
}

async function ask(headers: Record<string, string> = KEY, path = '/providers') {
  const answer = await fetch(http.base + path, { headers });
  const text = await answer.text();
  const { headers: got, status } = answer;
  return {
    status,
    text,
    limit: got.get('x-ratelimit-limit'),
    remaining: got.get('x-ratelimit-remaining'),
    retry: got.get('retry-after'),
  };
}

async function spend(headers: Record<string, string>, path?: string): Promise<void> {
  for (let n = 0; n < BURST; n += 1) expect((await ask(headers, path)).status).not.toBe(429);
}

describe('an accepted caller', () => {
  it('is told how many calls are left, then when to retry', async () => {
    const clock = await start();
    for (let left = BURST - 1; left >= 0; left -= 1)
      expect(await ask()).toMatchObject({ status: 200, limit: '5', remaining: String(left), retry: null });
    const refused = await ask();
    expect(refused).toMatchObject({ status: 429, limit: '5', remaining: '0', retry: '1' });
    expect(JSON.parse(refused.text)).toMatchObject({
      code: 'resource_limit',
      request_id: expect.any(String),
    });
    await clock.advance(1000);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(429);
    expect(http.control.rates.stats()).toMatchObject({ allowed_total: 6, limited_total: 2, buckets: 1 });
  });

  it('is refused before anything is done', async () => {
    await start();
    await spend(KEY);
    const { status } = await askSample(http.base, 'spawnSandbox', KEY);
    expect([status, http.control.asked]).toEqual([429, []]);
  });

  it('pays for refused and failed calls too', async () => {
    await start();
    await ask(KEY, '/sandboxes/sb-x');
    await ask(KEY, '/sandboxes?nonsense=1');
    await ask(KEY, '/admin/providers');
    await ask({ ...KEY, 'x-user-id': 'not/an/owner' });
    expect((await ask()).remaining).toBe('0');
  });
});

describe('the bucket that pays', () => {
  it('owner: belongs to the owner, else the key, else the address', async () => {
    await start();
    await spend({ ...KEY, 'x-user-id': 'ann' });
    expect((await ask({ ...KEY, 'x-user-id': ' ann ' })).status).toBe(429);
    expect((await ask({ 'x-admin-api-key': ADMIN_KEY, 'x-user-id': 'ann' })).status).toBe(429);
    expect((await ask({ ...KEY, 'x-user-id': 'bob' })).remaining).toBe('4');
    expect((await ask(KEY)).remaining).toBe('4');
    expect((await ask({ 'x-api-key': ADMIN_KEY })).remaining).toBe('4');
  });

  it('api_key: belongs to the key, whatever owner it names', async () => {
    await start({ rate_limit: { key_by: 'api_key' } });
    await spend({ ...KEY, 'x-user-id': 'ann' });
    expect((await ask({ ...KEY, 'x-user-id': 'bob' })).status).toBe(429);
    expect((await ask({ 'x-admin-api-key': ADMIN_KEY })).remaining).toBe('4');
    expect((await ask({ 'x-api-key': ADMIN_KEY })).remaining).toBe('3');
  });

  it('ip: belongs to the address', async () => {
    await start({ rate_limit: { key_by: 'ip' } });
    await spend({ ...KEY, 'x-user-id': 'ann' });
    expect((await ask({ 'x-admin-api-key': ADMIN_KEY })).status).toBe(429);
  });

  it('does not belong to an unproved key with authentication off', async () => {
    await start({ auth: {}, rate_limit: { key_by: 'api_key' } });
    for (let n = 0; n < BURST; n += 1) expect((await ask({ 'x-api-key': `k${n}` })).status).toBe(200);
    expect((await ask({ 'x-api-key': 'another' })).status).toBe(429);
  });

  it('follows X-Forwarded-For only from trusted proxies', async () => {
    await start({ rate_limit: { key_by: 'ip' } });
    for (let n = 0; n < BURST; n += 1) await ask({ ...KEY, 'x-forwarded-for': `1.1.1.${n}` });
    expect((await ask({ ...KEY, 'x-forwarded-for': '2.2.2.2' })).status).toBe(429);
    await http.server.close(0);
    await start({ rate_limit: { key_by: 'ip' }, server: { trusted_proxies: ['127.0.0.0/8'] } });
    await spend({ ...KEY, 'x-forwarded-for': '9.9.9.9, 1.1.1.1' });
    expect((await ask({ ...KEY, 'x-forwarded-for': '8.8.8.8, 1.1.1.1' })).status).toBe(429);
    expect((await ask({ ...KEY, 'x-forwarded-for': '1.1.1.1, 2.2.2.2' })).remaining).toBe('4');
    // An IPv6 caller has 2^64 addresses and is one caller.
    await spend({ ...KEY, 'x-forwarded-for': '2001:db8::1' });
    expect((await ask({ ...KEY, 'x-forwarded-for': '2001:db8::ffff:1' })).status).toBe(429);
    const lines = http.logger.lines.filter(({ message }) => message === 'request');
    expect(lines.map(({ fields }) => fields.remote_address)).toContain('2.2.2.2');
  });
});

describe('invented owners', () => {
  const as = (owner: string) => ask({ ...KEY, 'x-user-id': owner });

  it('make no more calls together than 20 owners, and each sees its own rest', async () => {
    await start();
    for (let n = 0; n < 20 * BURST; n += 1)
      expect(await as(`invented-${n}`)).toMatchObject({ status: 200, limit: '5', remaining: '4' });
    expect(await as('one-more')).toMatchObject({ status: 429, limit: '5', remaining: '4', retry: '1' });
    // Another key has a bucket of its own.
    expect((await ask({ 'x-api-key': ADMIN_KEY, 'x-user-id': 'ann' })).status).toBe(200);
  });

  it('make as many calls together as configured', async () => {
    const clock = await start({ rate_limit: { key_multiple: 2 } });
    for (let n = 0; n < 2 * BURST; n += 1) expect((await as(`o${n}`)).status).toBe(200);
    expect((await as('o99')).status).toBe(429);
    await clock.advance(1000);
    expect([(await as('o1')).status, (await as('o2')).status, (await as('o3')).status]).toEqual([
      200, 200, 429,
    ]);
  });

  it('count for their address where there are no keys', async () => {
    await start({ auth: {}, rate_limit: { key_multiple: 2 } });
    for (let n = 0; n < 2 * BURST; n += 1) expect((await ask({ 'x-user-id': `o${n}` })).status).toBe(200);
    expect((await ask({ 'x-user-id': 'o99' })).status).toBe(429);
  });

  it('do not charge the key for a call that is refused for its owner', async () => {
    await start({ rate_limit: { key_multiple: 2 } });
    for (let n = 0; n < 50; n += 1) await as('greedy');
    expect((await as('ann')).status).toBe(200);
  });
});

describe('a wrong key', () => {
  const guess = (n: number) => ({ 'x-api-key': `guess-${n}` });

  it('charges its address until no key is checked any more', async () => {
    const clock = await start();
    for (let n = 0; n < BURST; n += 1)
      expect(await ask(guess(n))).toMatchObject({
        status: 401,
        limit: '5',
        remaining: String(BURST - 1 - n),
      });
    expect(await ask(guess(9))).toMatchObject({ status: 429, retry: '1' });
    expect((await ask({})).status).toBe(429);
    // Also the right one, which proved nothing here yet: else the answer would tell which is right.
    expect((await fetch(`${http.base}/providers`, { headers: { ...KEY, connection: 'close' } })).status).toBe(
      429,
    );
    await clock.advance(1000);
    expect((await ask(KEY)).status).toBe(200);
    expect(http.control.rates.stats()).toMatchObject({ failed_total: 5, blocked_total: 3 });
  });

  it('is charged also where a key only shows more', async () => {
    await start();
    for (let n = 0; n < BURST; n += 1) expect((await ask(guess(n), '/health')).status).toBe(200);
    const open = await ask({ ...KEY, connection: 'close' }, '/health');
    expect([open.status, JSON.parse(open.text).version]).toEqual([200, undefined]);
    expect((await ask({ ...KEY, connection: 'close' })).status).toBe(429);
  });

  it('is charged beside a correct one, and with authentication off while any key is configured', async () => {
    await start();
    for (let n = 0; n < BURST; n += 1)
      expect((await ask({ ...KEY, 'x-admin-api-key': `g${n}`, 'x-user-id': `u${n}` })).status).toBe(200);
    expect((await ask({ ...KEY, 'x-admin-api-key': ADMIN_KEY, 'x-user-id': 'u' })).status).toBe(429);
    await http.server.close(0);
    await start({ auth: { admin_api_key: ADMIN_KEY } });
    for (let n = 0; n < BURST; n += 1) await ask({ 'x-admin-api-key': `g${n}`, 'x-user-id': `u${n}` });
    expect((await ask({ 'x-admin-api-key': ADMIN_KEY })).status).toBe(429);
    expect((await ask({})).status).toBe(200);
  });

  it('does not lock out a correct key that the address proved lately, on any connection', async () => {
    const clock = await start({ rate_limit: { burst: 50 } });
    const fresh = (headers: Record<string, string>, path?: string) =>
      ask({ ...headers, connection: 'close' }, path);
    expect((await fresh(KEY)).status).toBe(200);
    for (let n = 0; n < 60; n += 1) await ask(guess(n));
    expect((await fresh(guess(0))).status).toBe(429);
    expect((await fresh(KEY)).status).toBe(200);
    expect(JSON.parse((await fresh(KEY, '/health')).text)).toHaveProperty('version');
    // Nothing else is looked at: another right one, or a wrong one beside it, hears what every guess does.
    const refused = await fresh(guess(0));
    for (const other of [{ 'x-api-key': ADMIN_KEY }, { ...KEY, 'x-admin-api-key': ADMIN_KEY }, {}])
      expect((await fresh(other as Record<string, string>)).status).toBe(refused.status);
    expect(JSON.parse((await fresh({ 'x-api-key': ADMIN_KEY }, '/health')).text)).not.toHaveProperty(
      'version',
    );
    await clock.advance(15 * 60_000);
    for (let n = 0; n < 60; n += 1) await ask(guess(n));
    expect((await fresh(KEY)).status).toBe(429);
  });

  it('locks out every key after ten times as many, so that guessing finds no proved key', async () => {
    await start();
    expect((await ask({ ...KEY, connection: 'close' })).status).toBe(200);
    for (let n = 0; n < 10 * BURST - 1; n += 1) await ask(guess(n));
    // Calls without a key find nothing out, and lock nobody out.
    for (let n = 0; n < 20 * BURST; n += 1) await ask({});
    expect((await ask({ ...KEY, connection: 'close' })).status).toBe(200);
    await ask(guess(1000));
    expect((await ask({ ...KEY, connection: 'close' })).status).toBe(429);
    expect((await ask({ ...KEY, connection: 'close' }, '/health')).text).not.toContain('version');
  });

  it('does not lock out a connection that has proved its key', async () => {
    await start({ rate_limit: { burst: 50 } });
    const one = await import('node:net').then(({ connect }) =>
      connect(http.port, '127.0.0.1').setEncoding('utf8'),
    );
    const send = () =>
      new Promise<string>((resolve) => {
        one.once('data', (text) => resolve(String(text).slice(9, 12)));
        one.write(`GET /api/v1/providers HTTP/1.1\r\nHost: x\r\nX-API-Key: ${API_KEY}\r\n\r\n`);
      });
    expect(await send()).toBe('200');
    for (let n = 0; n < 51; n += 1) await ask(guess(n));
    expect((await ask(guess(0))).status).toBe(429);
    expect(await send()).toBe('200');
    one.destroy();
  });
});

describe('a counted call', () => {
  it('is every call that needs a key', () => {
    const free = ROUTES.filter(({ auth }) => auth === 'none' || auth === 'optional').map(({ id }) => id);
    const probes = ['health', 'live', 'ready'];
    expect(free.sort()).toEqual([...probes, 'openapiJson', 'openapiYaml'].sort());
    for (const route of ROUTES)
      expect([route.id, isKeyed(route)]).toEqual([
        route.id,
        !free.includes(route.id) && !['code', 'worker'].includes(route.auth),
      ]);
  });

  it('is not a probe, a description or a preflight', async () => {
    await start();
    for (const path of ['/live', '/ready', '/health', '/openapi.json', '/openapi.yaml'])
      for (let n = 0; n < 3; n += 1) expect(await ask(KEY, path)).toMatchObject({ status: 200, limit: null });
    expect((await ask()).remaining).toBe('4');
  });

  it('does not exist unless the limit is enabled', async () => {
    await start({ rate_limit: { enabled: false } });
    for (let n = 0; n < 20; n += 1) expect(await ask()).toMatchObject({ status: 200, limit: null });
    for (let n = 0; n < 20; n += 1) expect((await ask(guessed(n))).status).toBe(401);
    expect(http.control.rates.stats()).toMatchObject({ enabled: false, buckets: 0 });
  });
  const guessed = (n: number) => ({ 'x-api-key': `guess-${n}` });

  it('puts no key, owner or address into its statistics', async () => {
    await start();
    await ask({ ...KEY, 'x-user-id': 'ann-the-owner' });
    expect(JSON.stringify(http.control.rates.stats())).not.toMatch(/ann|127\.0|api-key/);
    expect(http.control.rates.bucket('x')).toMatch(/^[\w-]{22}$/);
    expect(http.control.rates.bucket('x')).not.toBe(http.control.rates.bucket('y'));
  });
});

describe('cleaning up', () => {
  it('forgets full buckets after their time, and stops with the control plane', async () => {
    const { world } = await import('../support/servers/control.ts');
    const w = world({ rate_limit: { enabled: true, bucket_ttl: '5m', cleanup_interval: '1m' } });
    http = await startHttp();
    await w.control.start();
    w.control.rates.call(w.control.rates.bucket('a'));
    await w.clock.advance(5 * 60_000);
    expect(w.control.rates.stats().buckets).toBe(1);
    await w.clock.advance(60_000);
    expect(w.control.rates.stats().buckets).toBe(0);
    await w.control.stop();
    expect(w.clock.pending()).toBe(0);
  });
});
