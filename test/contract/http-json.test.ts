// Hostile JSON against every route that takes a body: refused with a 4xx in our shape or taken as what it is, never a
// 5xx, never a polluted prototype, never a server that stops.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({ server: { body_limit: 256 * 1024 } });
});
afterAll(() => http.server.close(0));

const TARGETS: [string, string][] = [
  ['POST', '/sandboxes'],
  ['POST', '/sandboxes/sb-x/extend'],
  ['POST', '/sandboxes/sb-x/exec'],
  ['POST', '/sandboxes/sb-x/files'],
  ['PUT', '/sandboxes/sb-x/files/f'],
  ['POST', '/sandboxes/sb-x/files/move'],
  ['POST', '/sandboxes/sb-x/files/chmod'],
  ['POST', '/sandboxes/sb-x/files/mkdir'],
];
const deep = (open: string, close: string, n: number) => `${open.repeat(n)}${close.repeat(n)}`;
const POISON = ['{"polluted":1}', '1', 'null', '[]', '"x"'].flatMap((value) => [
  `{"__proto__":${value}}`,
  `{"constructor":{"prototype":${value}}}`,
  `{"\\u005f_proto__":${value}}`,
  `{"metadata":{"__proto__":${value}}}`,
  `{"metadata":{"constructor":{"prototype":${value}}}}`,
  `{"env":{"__proto__":${value}}}`,
  `{"ttl":"1s","__proto__":${value}}`,
]);
const BROKEN = [
  '',
  ' ',
  '{',
  '}',
  '[',
  '"',
  '{"',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  '[1,]',
  '{a:1}',
  "{'a':1}",
  '{"a":1}}',
  '{} {}',
  '{}x',
  'nul',
  'tru',
  '+1',
  '01',
  '1.',
  '.5',
  '1e',
  '0x1',
  'NaN',
  'Infinity',
  '-',
  '"\\x"',
  '"\\u12"',
  '"\n"',
  '"\t"',
  '//x\n{}',
  '/**/{}',
  '{"a":undefined}',
  '\ufeff{}',
  '\0{}',
  '{}\0',
  '<xml/>',
  'a=b',
  '--',
  '%7B%7D',
];
const VALUES = [
  'null',
  'true',
  '0',
  '-0',
  '1e999',
  '1E400',
  '123456789012345678901234567890',
  '""',
  '"x"',
  '[]',
  '[[]]',
  '[{}]',
  '"\\ud800"',
  '"\\udc00\\ud800"',
];
const WRONG = VALUES.flatMap((value) => [
  value,
  `{"ttl":${value}}`,
  `{"memory_mb":${value}}`,
  `{"metadata":${value}}`,
  `{"metadata":{"k":${value}}}`,
  `{"env":{"A":${value}}}`,
  `{"command":${value}}`,
  `{"command":"x","args":${value}}`,
  `{"path":"/f","content":${value}}`,
  `{"path":${value},"mode":${value}}`,
]);
const LARGE = [
  deep('[', ']', 100_000),
  deep('{"a":', '}', 40_000).replace('{"a":}', '{"a":1}'),
  `{"metadata":${deep('{"a":', '}', 40_000).replace('{"a":}', '{"a":1}')}}`,
  `{"metadata":{${Array.from({ length: 10_000 }, (_, i) => `"k${i}":"v"`).join(',')}}}`,
  `{${Array.from({ length: 10_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
  `{"args":[${'"x",'.repeat(30_000)}"x"],"command":"x"}`,
  `{"ttl":"${'9'.repeat(200_000)}s"}`,
  `{"ttl":"${'1h'.repeat(30)}"}`,
  '{"ttl":"1s","ttl":"2s"}',
];
const CORPUS = [...POISON, ...BROKEN, ...WRONG, ...LARGE];

async function send(method: string, path: string, body: string | Uint8Array) {
  const answer = await fetch(http.base + path, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body as never,
  });
  const text = await answer.text();
  return { status: answer.status, text };
}

function hold({ status, text }: { status: number; text: string }) {
  expect(status).toBeLessThan(500);
  if (status >= 400)
    expect(Object.keys(JSON.parse(text) as object).slice(0, 3)).toEqual(['code', 'message', 'request_id']);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}

it(`has a large corpus of hostile bodies`, () => expect(CORPUS.length).toBeGreaterThan(200));

it.each([
  ['{"metadata":{"a":"\\ud800"}}', /^metadata\.a contains half/],
  ['{"metadata":{"\\udc00":"x"}}', /^A key of metadata contains half/],
  ['{"ttl":"\\uD83D"}', /^ttl contains half/],
])('%s is refused with the name of its field', async (body, message) => {
  const { status, text } = await send('POST', '/sandboxes', body);
  expect(status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({ code: 'bad_request', message: expect.stringMatching(message) });
});

it.each(TARGETS)('%s %s survives the corpus', async (method, path) => {
  for (const body of CORPUS) hold(await send(method, path, body));
  expect((await fetch(`${http.base}/live`)).status).toBe(200);
});

it.each([...POISON, ...BROKEN.filter((text) => text !== '')])('refuses %j', async (body) => {
  const before = http.control.asked.length;
  expect((await send('POST', '/sandboxes', body)).status).toBe(400);
  expect(http.control.asked).toHaveLength(before);
});

it('accepts what JSON.parse accepts', async () => {
  for (const body of [
    '{"ttl":"1s","ttl":"2s"}',
    ' \t\r\n{} ',
    '{"metadata":{"k":"\\ud83d\\ude00"}}',
    '{"metadata":{"constructor":"x"}}',
  ]) {
    expect((await send('POST', '/sandboxes', body)).status).toBe(201);
  }
  expect(http.control.asked.some(({ args }) => (args[0] as { ttl?: string }).ttl === '2s')).toBe(true);
});

it.each([
  [Uint8Array.of(0x7b, 0xff, 0x7d)],
  [Buffer.from('{"metadata":{"k":"\xff"}}', 'latin1')],
  [Buffer.from('{"metadata":{"k":"\xed\xa0\x80"}}', 'latin1')],
  [Uint8Array.of(0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00)],
  [Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)],
  [Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
])('refuses bytes that are not UTF-8', async (bytes) => {
  expect((await send('POST', '/sandboxes', bytes)).status).toBe(400);
});

it('survives random values', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...TARGETS), fc.jsonValue(), async ([method, path], value) =>
      hold(await send(method, path, JSON.stringify(value))),
    ),
    { numRuns: 500 },
  );
});

it('refuses bodies that are too large, compressed, of another type, or unexpected', async () => {
  const post = async (path: string, headers: Record<string, string>, body: string | null, method = 'POST') =>
    (await fetch(http.base + path, { method, headers, body })).status;
  const json = { 'content-type': 'application/json' };
  const large = JSON.stringify({ metadata: { k: 'x'.repeat(300_000) } });
  expect(await post('/sandboxes', json, large)).toBe(413);
  expect(
    await post('/sandboxes/sb-x/files', json, JSON.stringify({ path: '/f', content: 'x'.repeat(300_000) })),
  ).toBe(200);
  for (const coding of ['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip', 'x']) {
    expect(await post('/sandboxes', { ...json, 'content-encoding': coding }, '{}')).toBe(415);
  }
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'application/jsonp',
    'json',
    '',
    'application/octet-stream',
  ]) {
    expect(await post('/sandboxes', { 'content-type': type }, '{}')).toBe(415);
  }
  for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json ;x=y']) {
    expect(await post('/sandboxes', { 'content-type': type }, '{}')).toBe(201);
  }
  for (const type of ['text/plain', 'application/json', 'nonsense']) {
    expect(await post('/sandboxes', { 'content-type': type }, null)).toBe(201);
    expect(await post('/sandboxes/prune', { 'content-type': type }, null)).toBe(200);
  }
  expect(await post('/sandboxes/prune', json, '{}')).toBe(200);
  expect(await post('/sandboxes/prune', json, '{"all":true}')).toBe(400);
  expect(await post('/sandboxes/sb-x', json, '{}', 'DELETE')).toBe(400);
});
