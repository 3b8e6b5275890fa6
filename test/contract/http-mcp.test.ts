// `/mcp` against who must not use it: no key, keys without the scope, web pages, bodies that are not what they say, and
// messages that nobody expects. What tools do with the rights of a key is also in e2e/mcp.test.ts.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tally } from '../../proof/tally.ts';
import type { KeyRing } from '../../src/control/keys/key-ring.ts';
import { keyHash } from '../../src/domain/key-text.ts';
import { TOOLS } from '../../src/mcp/profiles.ts';
import type { KeyScope } from '../../src/schema/key-words.ts';
import { keyRecord } from '../support/records.ts';
import { ADMIN_KEY, API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const OWNER = { owner_id: 'ann' };
const NAMED: Record<string, object> = {
  svc_read: { scopes: ['read'] satisfies KeyScope[] },
  svc_use: { scopes: ['use'] satisfies KeyScope[] },
  svc_admin: { scopes: ['admin'] satisfies KeyScope[] },
  svc_ann: { scopes: ['use'] satisfies KeyScope[], ...OWNER },
  svc_revoked: { scopes: ['admin'], revoked_at: '2020-01-01T00:00:00.000Z', revoked_by: 'x' },
};
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** Statuses of `/mcp` and `/mcp/operate`, and what `create_sandbox` comes to. */
const TABLE: [who: string, headers: Record<string, string>, use: number, operate: number, spawn: string][] = [
  ['nobody', {}, 401, 401, ''],
  ['wrong', bearer('svc_wrong'), 401, 401, ''],
  ['basic', { authorization: 'Basic c3ZjX3VzZTo=' }, 401, 401, ''],
  ['cookie', { cookie: `x-api-key=${API_KEY}` }, 401, 401, ''],
  ['api', bearer(API_KEY), 200, 403, 'in'],
  ['api in its own header', { 'x-api-key': API_KEY }, 200, 403, 'in'],
  ['both the same', { 'x-api-key': API_KEY, ...bearer(API_KEY) }, 200, 403, 'in'],
  ['two keys', { 'x-api-key': API_KEY, ...bearer('svc_use') }, 400, 400, ''],
  ['admin', bearer(ADMIN_KEY), 200, 200, 'in'],
  ['admin in its own header', { 'x-admin-api-key': ADMIN_KEY }, 200, 200, 'in'],
  ['read', bearer('svc_read'), 200, 403, 'forbidden'],
  ['use', bearer('svc_use'), 200, 403, 'in'],
  ['named admin', bearer('svc_admin'), 200, 200, 'in'],
  ['of ann', bearer('svc_ann'), 200, 403, 'in'],
  ['of ann for bob', { ...bearer('svc_ann'), 'x-user-id': 'bob' }, 403, 403, ''],
  ['revoked', bearer('svc_revoked'), 401, 401, ''],
];

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({
    mcp: { enabled: true },
    auth: { enabled: true, api_key: API_KEY, admin_api_key: ADMIN_KEY },
    server: { cors_allowed_origins: ['https://agents.example.com'] },
  });
  const ring = http.control.namedKeys as KeyRing;
  for (const [text, facts] of Object.entries(NAMED))
    ring.put(keyRecord({ ...facts, name: text.replace('svc_', ''), hash: keyHash(text) }));
});
afterAll(() => http.server.close(0));
beforeEach(() => {
  http.control.asked.length = 0;
});

const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
type Body = string | Uint8Array | object;

async function post(path: string, headers: Record<string, string>, body: Body, method = 'POST') {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const text = method === 'POST' ? { body: isRaw ? (body as string) : JSON.stringify(body) } : {};
  const answer = await fetch(http.url + path, { method, headers: { ...TYPES, ...headers }, ...text });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

const message = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 1, method, params });
const calling = (name: string, args: object = {}) => message('tools/call', { name, arguments: args });
/** The result in an answer, which the SDK sends as an event. */
const resultIn = (text: string) => JSON.parse(/^(?:data: )?(\{.*)$/m.exec(text)?.[1] ?? '{}').result ?? {};
const textIn = (text: string): string => resultIn(text).content?.[0]?.text ?? '';

describe('access', () => {
  it.each(TABLE)('%s', async (_who, headers, use, operate, spawn) => {
    const list = message('tools/list');
    const answers = [await post('/mcp', headers, list), await post('/mcp/operate', headers, list)];
    expect(answers.map(({ status }) => status)).toEqual([use, operate]);
    for (const answer of answers)
      expect(answer.headers.get('www-authenticate')).toBe(answer.status === 401 ? 'Bearer' : null);
    expect(http.control.asked).toEqual([]);
    if (spawn === '') return;
    const text = textIn((await post('/mcp', headers, calling('create_sandbox'))).text);
    expect(text.startsWith('{') ? 'in' : text.split(':')[0]).toBe(spawn);
    expect(http.control.asked.length).toBe(spawn === 'in' ? 1 : 0);
    tally('authorization', 'MCP: path × credential', { trials: 3, wrong: 0 });
  });

  it('lets a key with the scope read look, and refuses all else', async () => {
    const args = {
      sandbox_id: 'sb-x',
      exec_id: 'ex-x',
      command: 'id',
      code: '1',
      path: '/f',
      content: '',
      old: 'a',
      new: 'b',
    };
    const needed = { ttl: '1h', port: 80 };
    const refused: string[] = [];
    for (const { name, input } of TOOLS.use) {
      const all = { ...args, ...needed } as Record<string, unknown>;
      const given = Object.fromEntries(
        Object.keys(input.properties).flatMap((key) => (key in all ? [[key, all[key]]] : [])),
      );
      const text = textIn((await post('/mcp', bearer('svc_read'), calling(name, given))).text);
      expect([name, text]).not.toEqual([name, '']);
      if (text.startsWith('forbidden:')) refused.push(name);
    }
    const looks = ['list_sandboxes', 'read_output', 'read_file', 'list_files', 'edit_file'];
    expect(refused.sort()).toEqual(
      TOOLS.use
        .map(({ name }) => name)
        .filter((name) => !looks.includes(name))
        .sort(),
    );
    // Only a look at the file, which is not there.
    expect(http.control.asked.map(({ method }) => method)).not.toContain('files.write');
  });

  it('acts for the owner of the key, from the address of the client', async () => {
    await post('/mcp', bearer('svc_ann'), calling('create_sandbox'));
    expect(http.control.asked[0]?.caller).toMatchObject({ owner: 'ann', bound: true, actor: 'key:ann' });
    await post('/mcp', { ...bearer(API_KEY), 'x-user-id': 'carl' }, calling('create_sandbox'));
    expect(http.control.asked[1]?.caller).toMatchObject({ owner: 'carl' });
  });

  it('refuses web pages of other origins', async () => {
    const statusFrom = async (origin: string) =>
      (await post('/mcp', { ...bearer(API_KEY), origin }, message('tools/list'))).status;
    expect(await statusFrom('https://evil.example.com')).toBe(403);
    expect(await statusFrom('null')).toBe(403);
    expect(await statusFrom('https://agents.example.com')).toBe(200);
    expect(await statusFrom(http.url)).toBe(200);
  });

  it.each(['GET', 'DELETE'])('has no stream and no session for %s', async (method) => {
    const answer = await post('/mcp', bearer(API_KEY), '', method);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await post('/mcp', {}, '', method)).status).toBe(401);
  });
});

describe('bodies', () => {
  const statusOf = async (body: Body, headers: Record<string, string> = {}) =>
    (await post('/mcp', { ...bearer(API_KEY), ...headers }, body)).status;

  it.each([
    ['nothing', '', 400],
    ['no JSON', '{', 400],
    ['null', 'null', 400],
    ['several messages', JSON.stringify([message('tools/list'), message('tools/list')]), 400],
    ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 400],
    ['more than body_limit', JSON.stringify({ a: 'x'.repeat(1024 * 1024) }), 413],
    ['an object without a method', '{}', 400],
  ])('refuses %s', async (_what, body, status) => {
    expect(await statusOf(body)).toBe(status);
  });

  it('refuses other media types and compressed bodies', async () => {
    expect(await statusOf(message('tools/list'), { 'content-type': 'text/plain' })).toBe(415);
    expect(await statusOf(message('tools/list'), { 'content-encoding': 'gzip' })).toBe(415);
  });

  it('refuses subscriptions, which would stay open for nothing', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const listen = message('subscriptions/listen', {
      _meta: meta,
      notifications: { toolsListChanged: true },
    });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    const { text } = await post('/mcp', { ...bearer(API_KEY), ...headers }, listen);
    expect(text).toMatch(/limit/i);
  });

  it('answers whatever arrives, and goes on', async () => {
    const names = fc.constantFrom(...TOOLS.use.map(({ name }) => name), 'x', '__proto__', 'constructor');
    const value = fc.jsonValue({ maxDepth: 4 });
    const args = fc.oneof(
      value,
      fc.dictionary(fc.constantFrom('sandbox_id', 'command', 'path', 'limit', 'env', '__proto__'), value),
    );
    const call = fc.record(
      { name: fc.oneof(names, value), arguments: args, _meta: value },
      { requiredKeys: [] },
    );
    const methods = fc.constantFrom('tools/call', 'tools/list', 'initialize', 'ping', 'x', 'server/discover');
    const body = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0', 2),
        id: fc.oneof(fc.integer(), fc.string(), value),
        method: fc.oneof(methods, methods, fc.string()),
        params: fc.oneof(call, call, value),
      },
      { requiredKeys: [] },
    );
    let trials = 0;
    await fc.assert(
      fc.asyncProperty(body, async (one) => {
        trials += 1;
        const { status, text } = await post('/mcp', bearer(API_KEY), one);
        expect(status).toBeLessThan(500);
        expect(text.length).toBeLessThan(256 * 1024);
        expect(text).not.toMatch(/api-key-|node_modules|src\/mcp|\bat .*:\d+:\d+/);
      }),
      { numRuns: Number(process.env.SVC_TEST_MCP_CASES ?? 100) },
    );
    tally('fuzz', 'messages of MCP', { trials, crashes: 0, unexpected_5xx: 0, wrong: 0 });
    expect((await post('/mcp', bearer(API_KEY), message('tools/list'))).status).toBe(200);
    expect(http.logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

it('is not there unless it is enabled, and never open to a network without keys', async () => {
  const off = await startHttp({});
  const open = await startHttp({ mcp: { enabled: true }, server: { host: '0.0.0.0', allow_insecure: true } });
  for (const { url, server } of [off, open]) {
    const path = `${url.replace('0.0.0.0', '127.0.0.1')}/mcp`;
    const answer = await fetch(path, {
      method: 'POST',
      headers: TYPES,
      body: JSON.stringify(message('ping')),
    });
    expect(answer.status).toBe(404);
    await server.close(0);
  }
});

it('refuses other names of this machine without authentication', async () => {
  const local = await startHttp({ mcp: { enabled: true } });
  const { request } = await import('node:http');
  const status = await new Promise((resolve) => {
    const headers = { ...TYPES, host: 'evil.example.com' };
    request(`${local.url}/mcp`, { method: 'POST', headers }, ({ statusCode }) => resolve(statusCode)).end(
      '{}',
    );
  });
  expect(status).toBe(403);
  await local.server.close(0);
});
