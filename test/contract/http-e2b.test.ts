// The interface of E2B against who must not use it: no key, no token, the token of another sandbox, forged links, pages of other
// origins, and bodies that are not what they say.
import { get } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { fileSignature } from '../../src/domain/data-token.ts';
import { lastFrame, messageFrame } from '../../src/http/e2b/rpc/frames.ts';
import { API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const CONTROL: [method: string, path: string][] = [
  ['POST', '/sandboxes'],
  ['POST', '/v2/sandboxes'],
  ['GET', '/sandboxes'],
  ['GET', '/v2/sandboxes'],
  ['GET', '/sandboxes/sb-x'],
  ['DELETE', '/sandboxes/sb-x'],
  ['POST', '/sandboxes/sb-x/timeout'],
  ['POST', '/sandboxes/sb-x/connect'],
  ['POST', '/v2/sandboxes/sb-x/connect'],
  ['POST', '/sandboxes/sb-x/refreshes'],
  ['GET', '/sandboxes/sb-x/metrics'],
  ['GET', '/sandboxes/sb-x/logs'],
  ['GET', '/templates'],
  ['GET', '/templates/aliases/base'],
  ['POST', '/sandboxes/sb-x/pause'],
  ['POST', '/sandboxes/sb-x/resume'],
  ['POST', '/sandboxes/sb-x/fork'],
  ['POST', '/sandboxes/sb-x/snapshots'],
  ['PUT', '/sandboxes/sb-x/network'],
  ['GET', '/snapshots'],
  ['GET', '/v2/templates'],
  ['POST', '/v3/templates'],
];
const DATA: [method: string, path: string][] = [
  ...['Start', 'Connect', 'List', 'SendInput', 'StreamInput', 'SendSignal', 'Update', 'CloseStdin'].map(
    (name): [string, string] => ['POST', `/process.Process/${name}`],
  ),
  ...[
    'Stat',
    'ListDir',
    'MakeDir',
    'Move',
    'Remove',
    'WatchDir',
    'CreateWatcher',
    'GetWatcherEvents',
    'RemoveWatcher',
  ].map((name): [string, string] => ['POST', `/filesystem.Filesystem/${name}`]),
  ['GET', '/files?path=x'],
  ['POST', '/files?path=x'],
  ['GET', '/metrics'],
  ['GET', '/envs'],
  ['POST', '/execute'],
  ['GET', '/contexts'],
  ['POST', '/contexts'],
  ['DELETE', '/contexts/x'],
  ['POST', '/contexts/x/restart'],
];

let http: TestHttp;
let [mine, theirs] = ['', ''];
beforeAll(async () => {
  http = await startHttp({
    auth: { enabled: true, api_key: API_KEY },
    server: { preview_domain: 'boxes.test' },
  });
});
afterAll(() => http.server.close(0));
beforeEach(async () => {
  const make = async () => {
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
    const answer = await fetch(`${http.url}/v2/sandboxes`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ templateID: 'base', unheardOf: { a: 1 } }),
    });
    expect(answer.status).toBe(201);
    return ((await answer.json()) as { sandboxID: string }).sandboxID;
  };
  [mine, theirs] = [await make(), await make()];
  http.control.asked.length = 0;
});

const ask = async (method: string, path: string, headers: Record<string, string>, body?: Buffer | string) => {
  const answer = await fetch(`${http.url}${path}`, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

it.each(CONTROL)('needs a key for %s %s', async (method, path) => {
  for (const headers of [{}, { 'x-api-key': 'e2b_0' }, { 'x-access-token': `access ${mine}` }]) {
    const { status, text } = await ask(method, path, headers as Record<string, string>);
    expect([status, JSON.parse(text)]).toMatchObject([401, { code: 401, message: expect.any(String) }]);
  }
  expect(http.control.asked).toEqual([]);
});

it.each(DATA)('needs the token of the sandbox for %s %s', async (method, path) => {
  const asked = async (headers: Record<string, string>) => (await ask(method, path, headers)).status;
  expect(await asked({})).toBe(400);
  expect(await asked({ 'x-api-key': API_KEY })).toBe(400);
  expect(await asked({ 'e2b-sandbox-id': mine })).toBe(401);
  expect(await asked({ 'e2b-sandbox-id': mine, 'x-api-key': API_KEY })).toBe(401);
  expect(await asked({ 'e2b-sandbox-id': mine, 'x-access-token': `access ${theirs}` })).toBe(401);
  expect(await asked({ 'e2b-sandbox-id': mine, 'x-access-token': `traffic ${mine}` })).toBe(401);
  expect(await asked({ 'x-access-token': 'forged' })).toBe(401);
  expect(await asked({ 'e2b-sandbox-id': 'sb-gone', 'x-access-token': 'access sb-gone' })).toBe(502);
  expect(http.control.asked).toEqual([]);
});

it('runs code for a token of the sandbox, in lines that every client splits alike', async () => {
  const body = '{"code":"1","context_id":null,"language":null,"env_vars":null}';
  const run = (token: Record<string, string>) =>
    ask('POST', '/execute', { 'e2b-sandbox-id': mine, 'content-type': 'application/json', ...token }, body);
  for (const token of [
    { 'x-access-token': `access ${mine}` },
    { 'e2b-traffic-access-token': `traffic ${mine}` },
  ] as Record<string, string>[]) {
    const { status, text } = await run(token);
    expect([status, text.split(/[\n\u2028]/).length]).toEqual([200, 3]);
    expect(text).toContain('"text":"a\\u2028b"');
  }
  expect((await run({ 'e2b-traffic-access-token': `traffic ${theirs}` })).status).toBe(401);
  expect((await run({ 'x-access-token': `traffic ${mine}` })).status).toBe(401);
});

it('answers for its own health without a sandbox', async () => {
  expect((await ask('GET', '/health', {})).status).toBe(204);
  expect((await ask('GET', '/health', { 'e2b-sandbox-id': 'sb-gone' })).status).toBe(502);
});

it('finds the sandbox of a link by its signature, and of no other', async () => {
  const file = { path: 'a', operation: 'read', user: '' } as const;
  const signature = encodeURIComponent(fileSignature(`access ${mine}`, file));
  const read = async (query: string, headers = {}) => (await ask('GET', `/files?${query}`, headers)).status;
  expect(await read(`path=a&signature=${signature}`)).not.toBe(401);
  expect(await read(`path=a&signature=${signature}`, { 'e2b-sandbox-id': theirs })).toBe(401);
  for (const forged of [
    `path=b&signature=${signature}`,
    `path=a&username=root&signature=${signature}`,
    `path=a&signature_expiration=9999999999&signature=${signature}`,
    'path=a&signature=v1_',
    'path=a&signature=x',
  ])
    expect(await read(forged)).toBe(401);
  expect((await ask('POST', `/files?path=a&signature=${signature}`, {}, 'x')).status).toBe(401);
});

it('reaches the data plane by the name of a port, and nothing else', async () => {
  const named = (host: string, path: string, headers = {}) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { port } = new URL(http.url);
      const request = get({ port, path, host: '127.0.0.1', headers: { host, ...headers } }, async (answer) =>
        resolve({ status: answer.statusCode ?? 0, text: (await answer.toArray()).join('') }),
      );
      request.once('error', reject);
    });
  const host = (port: number, id = mine) => `${port}-${id}.boxes.test:7443`;
  expect((await named(host(49_983), '/health')).status).toBe(204);
  expect((await named(host(49_983, 'sb-gone'), '/health')).text).toContain('The sandbox was not found');
  const token = { 'x-access-token': `access ${mine}` };
  expect((await named(host(49_999), '/contexts', token)).status).toBe(200);
  // The name wins over the header.
  const other = { ...token, 'e2b-sandbox-id': mine, 'e2b-sandbox-port': '49983' };
  expect((await named(host(49_983, theirs), '/files?path=a', other)).status).toBe(401);
  for (const path of ['/sandboxes', '/api/v1/sandboxes', '/openapi.json', '/console', '/'])
    expect((await named(host(49_983), path, { 'x-api-key': API_KEY })).status).toBe(404);
  expect((await named('api.boxes.test', '/v2/sandboxes', { 'x-api-key': API_KEY })).status).toBe(200);
});

it('needs a token of the sandbox for ports that headers name', async () => {
  const asked = async (headers: Record<string, string>, port = '3000') =>
    (await ask('GET', '/sandboxes', { 'e2b-sandbox-id': mine, 'e2b-sandbox-port': port, ...headers })).status;
  for (const headers of [
    {},
    { 'x-api-key': API_KEY },
    { 'e2b-traffic-access-token': `traffic ${theirs}` },
    { 'e2b-traffic-access-token': `access ${mine}` },
    { 'x-access-token': `traffic ${mine}` },
  ] as Record<string, string>[])
    expect(await asked(headers)).toBe(401);
  const before = http.control.asked.length;
  await asked({ 'e2b-traffic-access-token': `traffic ${mine}` });
  expect(http.control.asked.slice(before).map(({ method }) => method)).toContain('previews.open');
  // The old SDK names its agent's port on control calls, too.
  expect(await asked({ 'x-api-key': API_KEY }, '49983')).toBe(200);
});

it('keeps answers of sandboxes from being shown by a browser', async () => {
  const { headers } = await ask('GET', '/files?path=a', { 'x-access-token': `access ${mine}` });
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-disposition')).toBe('attachment');
  expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
  expect(headers.get('access-control-allow-origin')).toBeNull();
});

it('refuses bodies that are not what they say', async () => {
  const token = { 'x-access-token': `access ${mine}` };
  const start = (type: string, body: Buffer | string) =>
    ask('POST', '/process.Process/Start', { ...token, 'content-type': type }, body);
  const stream = 'application/connect+json';
  expect((await start('application/json', '{}')).status).toBe(415);
  expect((await start('application/proto', 'x')).status).toBe(415);
  const compressed = Buffer.concat([Buffer.from([1]), messageFrame({}).subarray(1)]);
  const bodies = [
    '',
    'x',
    compressed,
    lastFrame({}),
    Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from('[')]),
    Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from('[]')]),
  ];
  for (const body of bodies) {
    const { status, text } = await start(stream, body);
    expect([status, text]).toEqual([400, expect.stringContaining('"code"')]);
  }
  expect((await start(stream, Buffer.from([0, 255, 255, 255, 255]))).status).toBe(429);
  const list = (body: string) =>
    ask('POST', '/process.Process/SendInput', { ...token, 'content-type': 'application/json' }, body);
  for (const body of ['[]', '"x"', '{', '{"process":1}', '{"process":{"pid":"x"}}', '{"process":{}}'])
    expect((await list(body)).status).toBe(400);
  expect((await list('{"process":{"pid":1}}')).status).toBe(404);
});
