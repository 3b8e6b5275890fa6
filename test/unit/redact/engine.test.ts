// Secrets leave neither text nor structures, in any form, in linear time.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { isSecretKey, MASK } from '../../../src/redact/rules.ts';

const SECRET = 'p@ss w"rd/žluť+1';
const known = redactor({ secrets: [SECRET, 'hunter22', 'hunter22-longer'] });
const bare = redactor({ secrets: [] });

it('removes known values in every form', () => {
  const base64 = (prefix: string) => Buffer.from(`${prefix}${SECRET}:x`).toString('base64');
  const forms = [
    SECRET,
    JSON.stringify({ a: SECRET }),
    encodeURIComponent(SECRET),
    encodeURIComponent(SECRET).replaceAll('%20', '+'),
    base64(''),
    base64('u'),
    base64('us'),
    Buffer.from(SECRET).toString('base64url'),
  ];
  for (const form of forms) {
    const text = known.text(`before ${form} after`);
    expect(text).toMatch(/^before .*\[redacted\].* after$/);
    expect(text).not.toContain(form);
  }
});

it('removes the longer of two overlapping secrets completely', () => {
  expect(known.text('a hunter22-longer b hunter22 c')).toBe(`a ${MASK} b ${MASK} c`);
});

it.each([
  'Authorization: Bearer canary-1-abcdef',
  'authorization: "Digest canary, response=canary"',
  'Bearer canary-1-abcdef',
  `Basic ${Buffer.from('canary:canary1').toString('base64')}`,
  'Cookie: sid=canary; other=canary',
  'Set-Cookie: sid=canary',
  'X-API-Key: canary',
  '{"api_key":"canary with \\" quote and canary"}',
  '"{\\"api_key\\":\\"canary canary\\"}"',
  "password='canary canary'",
  'PASSWORD=canary',
  'db_password = canary',
  'tool --password canary --verbose',
  "tool --db-api-key  'canary canary' x",
  'tool --client-secret "canary \\" canary"',
  'client_secret: canary',
  '?token=canary&x=1',
  'SVC_AUTH_ADMIN_API_KEY=canary',
  'accessKey=canary',
  'https://user:canary@example.com/x',
  'postgres://user:can@ry-canary@example.com/x',
  'https://canary@github.com/x',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canary_canary',
  '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\ncanary\n-----END RSA PRIVATE KEY-----',
  '-----BEGIN PRIVATE KEY-----\\ncanary',
  'sk-proj-canary0123456789abcdef',
  'sk_live_canary0123456789',
  'ghp_canary0123456789canary',
  'github_pat_canary0123456789canary',
  'glpat-canary0123456789',
  'xoxb-canary0123456789',
  'npm_canary0123456789canary0123456789',
  'e2b_canary0123456789',
  `svc_canary${'0123456789'.repeat(4)}abc`,
  'hf_canary0123456789canary',
  'AIzacanary0123456789canary0123456789',
])('removes the canary of %j', (text) => {
  const masked = bare.text(`x ${text}\ny`);
  expect(masked).toContain(MASK);
  expect(masked).not.toMatch(/canary|AKIA/);
  expect(masked).toMatch(/^x /);
  expect(bare.text(masked)).toBe(masked);
});

it('removes cloud key ids', () => {
  expect(bare.text('id AKIAABCDEFGHIJKLMNOP.')).toBe(`id ${MASK}.`);
});

it.each([
  'sandbox sb-abcdefghijkl spawned in 12ms on userspace',
  'GET /api/v1/sandboxes?limit=5 200 3ms',
  'auth.api_key must be text that is not empty (SVC_AUTH_API_KEY).',
  'auth.enabled needs auth.api_key or auth.api_key_file',
  'api_key_file: /etc/svc/key',
  'http://127.0.0.1:7423/api',
  'a basic understanding of the bearer',
  'tool --token-file /etc/token --password-stdin --no-token --quiet; a token of mine',
  'max_tokens 5, keyboard, tokenizer',
  '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----',
])('leaves %j alone', (text) => {
  expect(bare.text(text)).toBe(text);
});

it('masks by key, by schema path and by value in structures', () => {
  const { value } = redactor({ secrets: ['hunter22'], schemaSecretPaths: ['auth.pin'] });
  const input = {
    auth: { pin: 1234, enabled: true, api_key: 'x', token: null },
    headers: { 'X-API-Key': ['a'], Authorization: 'b', accept: 'c' },
    workerToken: { inner: 'x' },
    max_tokens: 5,
    list: ['hunter22', { password: 'x' }],
    map: new Map([['secret', 'x']]),
    hunter22: 1,
  };
  expect(value(input)).toEqual({
    auth: { pin: MASK, enabled: true, api_key: MASK, token: null },
    headers: { 'X-API-Key': MASK, Authorization: MASK, accept: 'c' },
    workerToken: MASK,
    max_tokens: 5,
    list: [MASK, { password: MASK }],
    map: { secret: MASK },
    [MASK]: 1,
  });
  expect(input.auth.api_key).toBe('x');
});

it('recognizes names of secret keys', () => {
  for (const name of [
    'apiKey',
    'API-KEY',
    'x-admin-api-key',
    'api_key_previous',
    'db.password',
    'accessToken',
    'set-cookie',
    'private_key',
    'k'.repeat(300),
  ])
    expect([name, isSecretKey(name)]).toEqual([name, true]);
  for (const name of ['key', 'api_key_file', 'monkey', 'path', 'user_id', 'tokenizer', 'request_id'])
    expect([name, isSecretKey(name)]).toEqual([name, false]);
});

it('copies anything to plain, finite JSON', () => {
  const loop: Record<string, unknown> = {
    date: new Date(0),
    bytes: Buffer.alloc(9),
    big: 10n,
    fn: () => 1,
    nan: Number.NaN,
  };
  loop.self = loop;
  const trap = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no');
      },
    },
  );
  const getter = Object.defineProperty({ fine: 1 }, 'bad', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
  const error = new TypeError('at https://u:canary@h/', { cause: { token: 'canary' } });
  const copy = bare.value({
    loop,
    trap,
    getter,
    error,
    set: new Set([1]),
    url: new URL('http://a:canary@b/'),
    undef: undefined,
    bad: new Date(Number.NaN),
  });
  expect(copy).toMatchObject({
    loop: {
      date: '1970-01-01T00:00:00.000Z',
      bytes: '[9 bytes]',
      big: '10',
      fn: '[function]',
      nan: 'NaN',
      self: '[circular]',
    },
    trap: '[unreadable]',
    getter: { fine: 1, bad: '[unreadable]' },
    error: { name: 'TypeError', cause: { token: MASK } },
    set: [1],
    bad: 'Invalid Date',
  });
  expect(JSON.stringify(copy)).not.toContain('canary');
});

it('treats __proto__ as a plain name', () => {
  const copy = bare.value(JSON.parse('{"a": 1, "__proto__": {"token": "canary", "b": 2}}')) as object;
  expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  expect(JSON.stringify(copy)).toBe(`{"a":1,"__proto__":{"token":"${MASK}","b":2}}`);
});

it('is bounded in depth, breadth and text', () => {
  let deep: unknown = 1;
  for (let at = 0; at < 100_000; at++) deep = [deep];
  expect(JSON.stringify(bare.value(deep))).toContain('[deep]');
  const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at]));
  expect(Object.keys(bare.value(wide) as object).length).toBeLessThan(3000);
  expect((bare.value('é'.repeat(1_000_000)) as string).length).toBeLessThan(20_000);
});

it('leaves none of the random secrets planted everywhere', () => {
  const secret = fc
    .string({ unit: fc.constantFrom(...'abcXYZ019+/=&%$"\\ é'), minLength: 6, maxLength: 24 })
    .filter((text) => /\w{4}/.test(text) && !MASK.includes(text));
  fc.assert(
    fc.property(secret, fc.string(), (planted, noise) => {
      const { text, value } = redactor({ secrets: [planted] });
      const line = text(`${noise} ${planted} ${JSON.stringify([planted])} ${encodeURIComponent(planted)}`);
      expect(line).not.toContain(planted);
      expect(JSON.stringify(value({ noise, deep: [{ x: `a${planted}b` }] }))).not.toContain(
        JSON.stringify(planted).slice(1, -1),
      );
    }),
    { numRuns: 2000 },
  );
});

const HOSTILE = [
  'a',
  ' ',
  '"',
  "'",
  '\\',
  '=',
  ':',
  '-',
  '.',
  '/',
  '@',
  '[redacted',
  'eyJ',
  'eyJa.',
  'eyJaaaaaaaa.eyJaaaaaaaa ',
  '://',
  '://a:',
  '://a@',
  'Bearer ',
  'bearer',
  'Basic ',
  'Basic a',
  'basic aaaa',
  'password',
  'password=',
  'password="',
  'password=\\"',
  'token:',
  'token: ',
  'api_key',
  'secret secret',
  'authorization',
  'authorization:',
  'cookie=',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN ',
  '-----BEGIN A PRIVATE KEY-----a-',
  '-----END',
  'sk-',
  'sk-a',
  'ghp_',
  'SG.',
  'SG.a',
  'xoxb-',
  'AKIA',
  'A',
  '\n',
  'é',
  'private key-----',
  'password=a',
  'password\\"=\\"',
  'key key_ key- ',
  'basic \u0130',
  'access_key access-key accesskey',
];

it.each(HOSTILE)('needs time in proportion to the length of repeated %j', (part) => {
  const cpuMs = (size: number) => {
    const text = part.repeat(Math.ceil(size / part.length));
    const runs = Array.from({ length: 3 }, () => {
      const before = process.cpuUsage();
      known.text(text);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    return Math.min(...runs);
  };
  cpuMs(1000);
  // 32 times the text: quadratic work takes 1024 times as long, so a wide margin for noise still tells them apart.
  // The small sizes come first, so that a slow pattern fails here instead of running for an hour.
  for (const size of [1_000, 8_000, 31_250]) expect(cpuMs(32 * size)).toBeLessThan(150 * (cpuMs(size) + 1));
});
