// Requests with more headers than one reads: Node drops those after the 2,000th, so none of such a request is believed.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({ server: { preview_domain: 'preview.test' } });
});
afterAll(() => http.server.close(0));

const HOST = 'Host: localhost\r\n';
const LIVE = 'GET /api/v1/live HTTP/1.1\r\n';
const many = (count: number, header = 'A: b') => `${header}\r\n`.repeat(count);
/** A header that must not come twice, the second time where Node no longer looks. */
const HIDDEN = `X-User-ID: alice\r\n${many(2000, 'A:')}X-User-ID: bob\r\n`;

describe('more than 256 headers are refused', () => {
  it.each([
    ['on a plain call', `${LIVE}${HOST}${many(256)}\r\n`],
    ['with a header that Node drops', `${LIVE}${HOST}${HIDDEN}\r\n`],
    ['on an unknown route', `GET /nowhere HTTP/1.1\r\n${HOST}${many(256)}\r\n`],
    ['before a preflight', `OPTIONS /api/v1/live HTTP/1.1\r\n${HOST}${many(256)}\r\n`],
    ['on a preview', `${LIVE}Host: 80-sb-known0000000.preview.test\r\n${many(256)}\r\n`],
    [
      'on a WebSocket',
      `GET /api/v1/sandboxes/sb-1/exec/ws HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n${HIDDEN}\r\n`,
    ],
    [
      'on a WebSocket of a preview',
      `GET / HTTP/1.1\r\nHost: 80-sb-known0000000.preview.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${many(256)}\r\n`,
    ],
    [
      'on another upgrade, which is served as a plain call',
      `${LIVE}${HOST}Upgrade: h2c\r\n${many(1990, 'Connection:')}Connection: Upgrade\r\n${many(20, 'A:')}\r\n`,
    ],
    ['with an expectation', `${LIVE}${HOST}Expect: x\r\n${many(256)}\r\n`],
  ])('%s', async (_name, head) => {
    const { text, closed } = await rawExchange(http.port, `${head}${LIVE}${HOST}\r\n`);
    expect(closed).toBe(true);
    expect(text.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 431']);
    expect(text).toContain('"code":"bad_request"');
  });
});

it('accepts 256 headers', async () => {
  const { text } = await rawExchange(http.port, `${LIVE}${HOST}${many(254)}Connection: close\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
});
