// File paths on the wire: whatever the encoding, the control plane gets the path decoded exactly once, or the request
// is refused. It never sees a path that is still encoded, decoded twice, or resolved by us.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.server.close(0));
beforeEach(() => {
  http.control.asked.length = 0;
});

const DOTS = [
  '..',
  '%2e%2e',
  '%2E%2e',
  '.%2e',
  '%2e.',
  '%252e%252e',
  '..%00',
  '..;',
  '...',
  '%c0%ae%c0%ae',
  '%e0%80%ae',
  '．．',
  '%uff0e',
];
const SLASHES = ['/', '%2f', '%2F', '%252f', '%5c', '\\', '//', '/./', '%2f%2f', '%c0%af', '%25%32%66'];
const TAILS = [
  'etc/passwd',
  '%65tc%2fpasswd',
  'a%20b',
  'a+b',
  'a%2Bb',
  '%25',
  '%2525',
  'a%0ab',
  'a%00b',
  'ü',
  '%C3%BC',
  '%zz',
  '%',
  '%e0%a4',
  '%ff',
  '%F0%9F%98%80',
  'a%3Fb',
  'a%23b',
  'a;b',
  'a&b=c',
  '%7Euser',
  '-rf',
  '%2a',
  '*',
  '{x}',
  ':id',
  '%7Bpath%7D',
  'list',
  '.',
];
const CORPUS = [
  ...new Set([
    ...DOTS.flatMap((dots) => SLASHES.flatMap((slash) => [`${dots}${slash}x`, `a${slash}${dots}${slash}b`])),
    ...TAILS,
    ...TAILS.map((tail) => `a/${tail}`),
  ]),
];

/** What one decoding of a path gives; undefined when there is none. */
function decodedOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

const ROUTES: [string, (text: string) => string][] = [
  ['PUT', (text) => `files/${text}`],
  ['GET', (text) => `files?path=/${text}`],
  ['DELETE', (text) => `files?path=/${text}`],
  ['GET', (text) => `files/stat?path=/${text}`],
  ['GET', (text) => `files/list?path=/${text}`],
  ['GET', (text) => `files/glob?pattern=/${text}`],
];

async function seen(method: string, target: string): Promise<{ status: number; path?: unknown }> {
  http.control.asked.length = 0;
  const body =
    method === 'PUT' ? 'Content-Type: application/json\r\nContent-Length: 14\r\n\r\n{"content":""}' : '\r\n';
  const { text } = await rawExchange(
    http.port,
    Buffer.from(
      `${method} /api/v1/sandboxes/sb-x/${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${body}`,
      'utf8',
    ),
  );
  const asked = http.control.asked.at(-1);
  return { status: Number(text.slice(9, 12)), ...(asked && { path: asked.args[1] }) };
}

/** What the control plane must see of `text`, sent on this route. */
function expected(method: string, text: string): string | undefined {
  const inPath = method === 'PUT';
  // Bytes beyond ASCII are not allowed on the request line; in a query a plus is a space and & ends the value.
  if (/[^\x21-\x7e]/.test(text)) return undefined;
  if (!inPath && /[&#]/.test(text)) return undefined;
  const once = decodedOnce(inPath ? text : text.replaceAll('+', ' '));
  return once === undefined ? undefined : `/${once}`;
}

describe.each(ROUTES)('%s %s', (method, target) => {
  it.each(CORPUS)('%s', async (text) => {
    const { status, path } = await seen(method, target(text));
    const wanted = expected(method, text);
    expect(status).toBeLessThan(500);
    if (wanted === undefined) expect([status, path]).toEqual([400, undefined]);
    else expect(path).toBe(wanted);
  });
});

it('holds for random paths', async () => {
  const piece = fc.oneof(
    fc.constantFrom(...'abc./%25%2F%2e~*+;=@:!$'),
    fc.constantFrom('%41', '%2f', '%252f', '%zz', '%'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (pieces) => {
      const text = pieces.join('');
      const { status, path } = await seen('PUT', `files/${text}`);
      const wanted = expected('PUT', text);
      if (wanted === undefined) expect([status, path]).toEqual([400, undefined]);
      else expect(path).toBe(wanted);
    }),
    { numRuns: 300 },
  );
});

it('keeps an encoded slash inside the sandbox id, which then matches no sandbox', async () => {
  const { text } = await rawExchange(
    http.port,
    'GET /api/v1/sandboxes/a%2F..%2Fb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
  );
  expect([text.slice(9, 12), http.control.asked.at(-1)?.args]).toEqual(['404', ['a/../b']]);
});
