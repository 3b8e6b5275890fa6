// The admin API over HTTP, and the audit of every call to it, however it ends.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operationOf, type RouteId } from '../../src/http/paths.ts';
import type { AuditRecord } from '../../src/schema/audit.ts';
import { undescribed } from '../support/checks/openapi-check.ts';
import { askSample, ROUTE_IDS, SAMPLES } from '../support/checks/route-samples.ts';
import {
  ADMIN_KEY,
  API_KEY,
  type HttpOptions,
  rawExchange,
  startHttp,
  type TestHttp,
} from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const ADMIN = { 'x-admin-api-key': ADMIN_KEY };
const auth = { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY };

const JSON_BODY = 'Content-Type: application/json\r\n';
const PREFLIGHT = 'Origin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\n';
const UPGRADE =
  'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

let http: TestHttp;
const start = async (options: HttpOptions = {}) => {
  http = await startHttp({ auth, ...options });
};
beforeEach(() => start());
afterEach(() => http.server.close(0));

/** The record of the one call that `deed` makes. */
async function recorded(deed: () => Promise<unknown>) {
  const before = http.control.audited.length;
  await deed();
  await until('a record', () => http.control.audited.length > before);
  return http.control.audited[0] as AuditRecord;
}

const call = (method: string, path: string, headers: Record<string, string> = ADMIN) =>
  fetch(http.base + path, { method, headers });

/** Of calls that do not answer 200: the samples name a key and a credential that do not exist. */
const STATUSES: Record<string, number> = {
  createKey: 201,
  getKey: 404,
  rotateKey: 404,
  revokeKey: 404,
  revokeSession: 404,
  getCredential: 404,
  deleteCredential: 404,
};

/** Of its route, without a query. */
const pathOf = (id: RouteId) =>
  new RegExp(`^/api/v1${operationOf(id).path.replace(/\{\w+\}/g, '[a-z0-9-]+')}$`, 'i');

describe('every admin call is recorded', () => {
  it.each(ROUTE_IDS.filter((id) => SAMPLES[id].kind === 'admin' && !id.includes('Quota')))(
    '%s',
    async (id) => {
      const record = await recorded(() => askSample(http.base, id, { ...ADMIN, 'x-user-id': ' ann ' }));
      expect(record).toMatchObject({
        ...{
          actor: 'admin:X-Admin-API-Key',
          user_id: 'ann',
          status: STATUSES[id] ?? 200,
          remote_addr: '127.0.0.1',
        },
        ...{ user_agent: 'node', duration_ms: expect.any(Number), request_id: expect.any(String) },
      });
      expect(record.path).toMatch(pathOf(id));
      expect(record.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    },
  );

  it.each(['createTemplate', 'updateTemplate', 'deleteTemplate'] as const)(
    'and %s by any caller',
    async (id) => {
      const record = await recorded(() =>
        askSample(http.base, id, { 'x-api-key': API_KEY, 'x-user-id': 'ann' }),
      );
      expect(record).toMatchObject({ actor: 'api:X-API-Key', user_id: 'ann' });
      expect(record.path).toMatch(/^\/api\/v1\/templates/);
    },
  );

  it.each<[string, string, string, Record<string, string>, number, string]>([
    ['without a key', 'GET', '/admin/audit', {}, 401, 'none'],
    ['with a wrong key', 'GET', '/admin/audit', { 'x-api-key': 'wrong' }, 401, 'none'],
    ['by the API key', 'GET', '/admin/audit', { 'x-api-key': API_KEY }, 403, 'api:X-API-Key'],
    [
      'by the admin key in X-API-Key',
      'GET',
      '/admin/audit',
      { 'x-api-key': ADMIN_KEY },
      200,
      'admin:X-API-Key',
    ],
    [
      'with an invalid owner',
      'GET',
      '/admin/audit',
      { ...ADMIN, 'x-user-id': 'a/b' },
      400,
      'admin:X-Admin-API-Key',
    ],
    ['to an unknown path', 'GET', '/admin/nothing', ADMIN, 404, 'admin:X-Admin-API-Key'],
    ['to an unknown path without a key', 'PUT', '/admin/nothing/at/all', {}, 404, 'none'],
    ['to /admin itself', 'GET', '/admin', ADMIN, 404, 'admin:X-Admin-API-Key'],
    ['with escapes in the path', 'GET', '/%61dmin/nothing', ADMIN, 404, 'admin:X-Admin-API-Key'],
    ['by a wrong method', 'DELETE', '/admin/audit', ADMIN, 405, 'admin:X-Admin-API-Key'],
    ['with a wrong query', 'GET', '/admin/audit?nonsense=secret', ADMIN, 400, 'admin:X-Admin-API-Key'],
    ['about an unknown provider', 'GET', '/admin/providers/none', ADMIN, 404, 'admin:X-Admin-API-Key'],
  ])('%s', async (_name, method, path, headers, status, actor) => {
    const record = await recorded(() => call(method, path, headers));
    expect(record).toMatchObject({ method, status, actor });
    expect(record.path).toBe(`/api/v1${path.split('?')[0]}`);
    expect(JSON.stringify(record)).not.toMatch(/secret|api-key-0|admin-key-0/);
  });

  it.each([
    ['with an invalid escape', 'GET', '/admin/audit/%zz', '', 400],
    ['with an invalid escape and escapes that hide the path', 'GET', '/%61dmin/%zz', '', 400],
    ['with an expectation', 'POST', '/admin/providers/test', 'Expect: tea\r\nContent-Length: 2\r\n', 417],
    ['by an unknown method', 'QUERY', '/admin/audit', '', 405],
    [
      'with a body that is too large',
      'POST',
      '/admin/providers/test',
      `${JSON_BODY}Content-Length: 99999999\r\n`,
      413,
    ],
    ['with a body of another type', 'POST', '/admin/providers/test', 'Content-Length: 2\r\n', 415],
    [
      'with an ambiguous body length',
      'POST',
      '/admin/providers/test',
      'Transfer-Encoding: gzip, chunked\r\n',
      400,
    ],
    ['from another site', 'OPTIONS', '/admin/audit', PREFLIGHT, 403],
    ['with a WebSocket upgrade', 'GET', '/admin/audit', UPGRADE, 200],
    ['with a WebSocket upgrade to an unknown path', 'GET', '/admin/nothing', UPGRADE, 404],
  ])('%s', async (_name, method, path, headers, status) => {
    const key = `Host: x\r\nX-Admin-API-Key: ${ADMIN_KEY}\r\n`;
    const closing = headers === UPGRADE ? '' : 'Connection: close\r\n';
    const head = `${method} /api/v1${path} HTTP/1.1\r\n${key}${closing}${headers}\r\n`;
    const record = await recorded(() => rawExchange(http.port, head));
    expect(record).toMatchObject({ method, path: `/api/v1${path}`, status, actor: 'admin:X-Admin-API-Key' });
    await recorded(() => call('GET', '/admin/audit'));
    expect(http.control.audited).toHaveLength(2);
  });

  it('in absolute form, under its path', async () => {
    const target = `GET http://x/api/v1/admin/audit?a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    const record = await recorded(() => rawExchange(http.port, target));
    expect(record).toMatchObject({ path: '/api/v1/admin/audit', status: 401, actor: 'none' });
  });

  it('when the rate limit refuses it', async () => {
    await http.server.close(0);
    await start({ rate_limit: { enabled: true, burst: 1, requests_per_minute: 1 } });
    expect(await recorded(() => call('GET', '/admin/audit'))).toMatchObject({ status: 200 });
    const limited = await recorded(() => call('GET', '/admin/audit'));
    expect(limited).toMatchObject({ status: 429, actor: 'admin:X-Admin-API-Key' });
    await recorded(() => call('GET', '/admin/audit', { 'x-api-key': 'wrong' }));
    const blocked = await recorded(() => call('GET', '/admin/audit', { 'x-api-key': 'worse' }));
    expect(blocked).toMatchObject({ status: 429, actor: 'none' });
  });

  it('when a header is repeated, or the client leaves', async () => {
    const head = `GET /api/v1/admin/audit HTTP/1.1\r\nHost: x\r\nX-Admin-API-Key: ${ADMIN_KEY}\r\n`;
    const twice = await recorded(() =>
      rawExchange(http.port, `${head}x-admin-api-key: b\r\nConnection: close\r\n\r\n`),
    );
    expect(twice).toMatchObject({ status: 400, method: 'GET' });
    let asked = false;
    http.control.audit.list = async () => {
      asked = true;
      return new Promise(() => {});
    };
    const leaving = new AbortController();
    const gone = await recorded(async () => {
      const left = fetch(`${http.base}/admin/audit`, { headers: ADMIN, signal: leaving.signal });
      await until('it is asked', () => asked);
      leaving.abort();
      await expect(left).rejects.toThrow();
    });
    expect(gone).toMatchObject({ status: 499, actor: 'admin:X-Admin-API-Key' });
  });

  it('with any credential that opens it', async () => {
    await http.server.close(0);
    await start({ auth: { enabled: true, api_key: API_KEY } });
    const fallback = await recorded(() => call('GET', '/admin/audit', { 'x-api-key': API_KEY }));
    expect(fallback).toMatchObject({ status: 200, actor: 'api:X-API-Key' });
    await http.server.close(0);
    await start({ auth: {} });
    const open = await recorded(() => call('GET', '/admin/audit', {}));
    expect(open).toMatchObject({ status: 200, actor: 'anonymous' });
  });

  it('of quotas: all below /admin, and every change elsewhere', async () => {
    const ids = ROUTE_IDS.filter(
      (id) => id.includes('Quota') && (SAMPLES[id].kind === 'admin' || /^(put|delete)/.test(id)),
    );
    expect(ids).toHaveLength(8);
    for (const id of ids)
      expect((await recorded(() => askSample(http.base, id, ADMIN))).path).toContain('/quotas');
    await askSample(http.base, 'getQuota', ADMIN);
    await recorded(() => call('GET', '/admin/audit'));
    expect(http.control.audited).toHaveLength(9);
  });

  it('of sandboxes: every change with its target, also a spawn and a refused call', async () => {
    const key = { 'x-api-key': API_KEY };
    const spawned = await recorded(() => askSample(http.base, 'spawnSandbox', key));
    expect(spawned).toMatchObject({ actor: 'api:X-API-Key', status: 201, frequent: true });
    expect(spawned.target).toMatch(/^sb-/);
    for (const [method, path] of [
      ['DELETE', '/sandboxes/sb-aaaaaaaaaaaa'],
      ['POST', '/sandboxes/sb-aaaaaaaaaaaa/extend'],
    ] as const) {
      const record = await recorded(() => call(method, path, {}));
      expect(record).toMatchObject({ method, target: 'sb-aaaaaaaaaaaa', actor: 'none', status: 401 });
    }
    const pruned = await recorded(() => call('POST', '/sandboxes/prune', key));
    expect(pruned).toMatchObject({ path: '/api/v1/sandboxes/prune', frequent: true });
    expect(pruned).not.toHaveProperty('target');
    const template = await recorded(() => askSample(http.base, 'createTemplate', key));
    expect(template).toMatchObject({ target: expect.any(String) });
    expect(template).not.toHaveProperty('frequent');
  });

  it('inside sandboxes only with audit.execs', async () => {
    const key = { 'x-api-key': API_KEY };
    const inside = [
      'exec',
      'signalExec',
      'createPreview',
      'writeFile',
      'putFile',
      'removeFile',
      'putArchive',
      ...(['runCode', 'createCodeContext', 'restartCodeContext', 'removeCodeContext'] as const),
    ] as const;
    for (const id of inside) await askSample(http.base, id, key);
    await recorded(() => call('GET', '/admin/audit'));
    expect(http.control.audited).toHaveLength(1);
    await http.server.close(0);
    await start({ audit: { execs: true } });
    for (const id of inside) {
      const record = await recorded(() => askSample(http.base, id, key));
      expect(record, id).toMatchObject({ actor: 'api:X-API-Key', frequent: true });
      expect(record.target, id).toMatch(/^sb-/);
      expect(Object.keys(record).sort()).not.toContain('body');
    }
  });

  it('and no other call', async () => {
    await call('GET', '/providers');
    await call('GET', '/administrators');
    await call('OPTIONS', '/admin/audit', {
      origin: http.url,
      'access-control-request-method': 'GET',
    });
    await recorded(() => call('GET', '/admin/audit'));
    expect(http.control.audited).toHaveLength(1);
  });
});

it('names the actor of every request in the access log', async () => {
  await call('GET', '/sandboxes', { 'x-api-key': API_KEY });
  await call('GET', '/sandboxes', { 'x-api-key': 'wrong' });
  await call('GET', '/live', {});
  await until('three lines', () => lines().length === 3);
  expect(lines().map(({ fields }) => fields.actor)).toEqual(['api:X-API-Key', 'none', 'none']);
});

const lines = () => http.logger.lines.filter(({ message }) => message === 'request');

describe('reading the audit', () => {
  const get = async (path: string) => {
    const url = `${http.base}${path}`;
    const answer = await fetch(url, { headers: ADMIN });
    const [type, body] = [answer.headers.get('content-type'), await answer.text()];
    expect(undescribed({ method: 'GET', url }, { status: answer.status, type, body })).toBeUndefined();
    return { status: answer.status, type, body, headers: answer.headers };
  };

  it('returns JSON in pages', async () => {
    for (let n = 0; n < 3; n += 1) await recorded(() => get('/admin/audit'));
    const { body, headers } = await get('/admin/audit?limit=2');
    expect(JSON.parse(body)).toHaveLength(2);
    expect(headers.get('x-next-cursor')).toBe('next');
  });

  it('returns CSV with the same cursor', async () => {
    for (let n = 0; n < 3; n += 1) await recorded(() => call('GET', `/admin/=cmd${n}`));
    const { type, body, headers } = await get('/admin/audit?limit=2&format=csv');
    expect(type).toBe('text/csv; charset=utf-8; header=present');
    expect(headers.get('x-next-cursor')).toBe('next');
    expect(headers.get('content-disposition')).toContain('audit.csv');
    expect(body.split('\r\n')).toHaveLength(4);
    expect(body).toMatch(/^id,created_at,actor,/);
  });

  it.each(['limit=0', 'limit=1001', 'limit=x', 'format=xml', 'status=99', 'status=2xx', 'actor=', 'pth=/'])(
    'refuses %s',
    async (query) => expect((await get(`/admin/audit?${query}`)).status).toBe(400),
  );

  it('reports failures in the shape of every error', async () => {
    http.control.audit.list = async () => {
      throw new Error('SQLITE_CORRUPT');
    };
    expect(JSON.parse((await get('/admin/audit?format=csv')).body)).toMatchObject({ code: 'internal' });
  });
});

describe('admin routes of providers', () => {
  it('answer like the public routes, and run a check on request', async () => {
    const json = async (method: string, path: string) => {
      const url = http.base + path;
      const answer = await call(method, path);
      const body = await answer.text();
      const type = answer.headers.get('content-type');
      expect(undescribed({ method, url }, { status: answer.status, type, body })).toBeUndefined();
      return JSON.parse(body) as unknown;
    };
    expect(await json('GET', '/admin/providers')).toEqual(await json('GET', '/providers'));
    expect(await json('GET', '/admin/providers/userspace')).toEqual(
      await json('GET', '/providers/userspace'),
    );
    expect(await json('POST', '/admin/providers/test')).toEqual({
      userspace: { healthy: false, latency_ms: 3, error: 'It is not there.' },
    });
  });
});
