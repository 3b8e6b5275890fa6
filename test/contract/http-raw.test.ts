// The wire itself, spoken over bare sockets: shapes that smuggle a second request, headers and bodies that never end,
// requests that are none. Each gets one answer in our shape, or none, and never a second.
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({ headersTimeoutMs: 400 });
});
afterAll(() => http.server.close(0));

const HOST = 'Host: localhost\r\n';
const POST = `POST /api/v1/sandboxes HTTP/1.1\r\n${HOST}Content-Type: application/json\r\n`;
const GET = `GET /api/v1/live HTTP/1.1\r\n${HOST}`;
/** What a smuggler hopes to have served as a request of its own. */
const NEXT = `DELETE /api/v1/sandboxes/sb-victim HTTP/1.1\r\n${HOST}\r\n`;
const chunked = (header: string) => `${POST}${header}\r\n2\r\n{}\r\n0\r\n\r\n${NEXT}`;

const SMUGGLING: Record<string, string> = {
  'TE and CL': `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${NEXT}`,
  'CL and TE': `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${NEXT}`,
  'two lengths': `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ${NEXT}`,
  'two equal lengths': `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${NEXT}`,
  'a list of lengths': `${POST}Content-Length: 2, 2\r\n\r\n{}${NEXT}`,
  'a signed length': `${POST}Content-Length: +2\r\n\r\n{}${NEXT}`,
  'a negative length': `${POST}Content-Length: -2\r\n\r\n{}${NEXT}`,
  'a hex length': `${POST}Content-Length: 0x2\r\n\r\n{}${NEXT}`,
  'an endless length': `${POST}Content-Length: ${'9'.repeat(30)}\r\n\r\n{}${NEXT}`,
  'an empty length': `${POST}Content-Length: \r\n\r\n{}${NEXT}`,
  'a space before the colon': `${POST}Content-Length : 2\r\n\r\n{}${NEXT}`,
  'a tab before the colon': `${POST}Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n${NEXT}`,
  'a folded header': `${POST}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n${NEXT}`,
  'a folded TE': chunked('Transfer-Encoding:\r\n chunked\r\n'),
  'a bare CR': `${GET}X-A: b\rTransfer-Encoding: chunked\r\n\r\n${NEXT}`,
  'a bare CR as line end': `GET /api/v1/live HTTP/1.1\r${HOST}\r\n\r\n${NEXT}`,
  'bare line feeds': `${POST.replaceAll('\r\n', '\n')}Content-Length: 2\n\n{}${NEXT}`,
  'a NUL in a header': `${GET}X-A: b\0c\r\n\r\n${NEXT}`,
  'a NUL in a name': `${GET}X\0A: b\r\n\r\n${NEXT}`,
  'a header without a name': `${GET}: x\r\n\r\n${NEXT}`,
  'a header without a colon': `${GET}Transfer-Encoding\r\n\r\n${NEXT}`,
  'a leading space': `${GET} X-A: b\r\n\r\n${NEXT}`,
  'a second TE': chunked('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n'),
  'TE twice chunked': chunked('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'),
  'chunked not last': chunked('Transfer-Encoding: chunked, gzip\r\n'),
  'an unknown TE': chunked('Transfer-Encoding: xchunked\r\n'),
  'a coded TE': chunked('Transfer-Encoding: gzip, chunked\r\n'),
  'a vertical tab in TE': chunked('Transfer-Encoding: \x0bchunked\r\n'),
  'a chunk size that is none': `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n${NEXT}`,
  'a signed chunk size': `${POST}Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n${NEXT}`,
  'an overflowing chunk size': `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff2\r\n{}\r\n0\r\n\r\n${NEXT}`,
  'a chunk longer than its size': `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n${NEXT}`,
  'a chunk that ends in LF': `${POST}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n${NEXT}`,
  'a bare CR after a chunk size': `${POST}Transfer-Encoding: chunked\r\n\r\n2\rXX\r\n{}\r\n0\r\n\r\n${NEXT}`,
  'no Host': `GET /api/v1/live HTTP/1.1\r\nConnection: close\r\n\r\n${NEXT}`,
  'two Hosts': `${GET}Host: evil.example.com\r\nConnection: close\r\n\r\n${NEXT}`,
  'a Host with a path': `GET /api/v1/live HTTP/1.1\r\nHost: localhost/evil\r\nConnection: close\r\n\r\n${NEXT}`,
  'HTTP/2 by prior knowledge': `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${NEXT}`,
  'HTTP/3.0': `GET /api/v1/live HTTP/3.0\r\n${HOST}\r\n${NEXT}`,
  'no method': `/api/v1/live HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'a method in lower case': `get /api/v1/live HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'an unknown method': `SMUGGLE /api/v1/live HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'a space in the path': `GET /api/v1/li ve HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'a tab in the path': `GET /api/v1/li\tve HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'raw bytes in the path': `GET /api/v1/sandboxes/\xff\xfe HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'a TLS greeting': `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${NEXT}`,
  'a proxy header': `PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n${GET}\r\n${NEXT}`,
  'JSON alone': `{"command":"id"}\r\n\r\n${NEXT}`,
  'binary noise': Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 37) % 256)).toString('latin1'),
  'headers without end': `${GET}${'X-A: b\r\n'.repeat(9000)}\r\n${NEXT}`,
  'one huge header': `${GET}X-A: ${'b'.repeat(40_000)}\r\n\r\n${NEXT}`,
  'a huge path': `GET /api/v1/${'a'.repeat(40_000)} HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  CONNECT: `CONNECT localhost:22 HTTP/1.1\r\n${HOST}\r\n${NEXT}`,
  'an expectation': `${POST}Expect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}${NEXT}`,
};

describe('gives one answer and closes the connection for', () => {
  it.each(Object.entries(SMUGGLING))('%s', async (_name, bytes) => {
    http.control.asked.length = 0;
    const { text, closed } = await rawExchange(http.port, bytes);
    expect(closed).toBe(true);
    const statuses = text.match(/HTTP\/1\.1 \d{3}/g) ?? [];
    expect(statuses).toHaveLength(1);
    expect(statuses[0]).toMatch(/ (400|405|417|431)$/);
    const body = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { code: string; request_id: string };
    expect(Object.keys(body).slice(0, 3)).toEqual(['code', 'message', 'request_id']);
    expect(text).toMatch(new RegExp(`x-request-id: ${body.request_id}`, 'i'));
    expect(http.control.asked).toEqual([]);
  });
});

describe('unusual but valid requests', () => {
  it.each([
    [
      'chunk extensions',
      `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n`,
      201,
    ],
    [
      'trailers',
      `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-API-Key: x\r\n\r\n`,
      201,
    ],
    [
      'an absolute target',
      `GET http://localhost/api/v1/live HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
      200,
    ],
    [
      'an upgrade that the server does not support',
      `${GET}Connection: upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
      200,
    ],
    ['HTTP/1.0 without Host', 'GET /api/v1/live HTTP/1.0\r\n\r\n', 200],
    ['100-continue', `${POST}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}`, 100],
    [
      'an identity content coding',
      `${POST}Connection: close\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}`,
      201,
    ],
  ])('%s', async (_name, bytes, status) => {
    const { text } = await rawExchange(http.port, bytes);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('serves pipelined requests in order', async () => {
    const { text } = await rawExchange(http.port, `${GET}\r\n${GET}\r\n${GET}Connection: close\r\n\r\n`);
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(3);
  });

  it('sends no second status line for garbage behind a running request', async () => {
    const body = '{"command":"wait","stream":true}';
    const request = `POST /api/v1/sandboxes/sb-1/exec HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { text, closed } = await new Promise<{ text: string; closed: boolean }>((resolve) => {
      const socket = connect(http.port, '127.0.0.1');
      let text = '';
      socket.on('data', (part) => {
        const first = text === '';
        text += part.toString('latin1');
        if (first) socket.write('GARBAGE\r\n\r\n');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve({ text, closed: true }));
      socket.write(request);
    });
    expect([closed, text.match(/HTTP\/1\.1/g)?.length]).toEqual([true, 1]);
    await until('the exec is aborted', () => http.control.signals.at(-1)?.aborted);
  });
});

describe('slow clients', () => {
  it('lose a connection whose headers never end', async () => {
    const slow = Array.from({ length: 50 }, () => rawExchange(http.port, `${GET}X-A: `, 10_000));
    const silent = Array.from({ length: 50 }, () => rawExchange(http.port, '', 10_000));
    for (const { text, closed } of await Promise.all([...slow, ...silent])) {
      expect(closed).toBe(true);
      expect(text).toMatch(
        /^(HTTP\/1\.1 408 .*Retry-After: 1\r\n.*"code":"timeout".*"nothing_done":true.*)?$/s,
      );
    }
  });

  it('are not told to repeat a request that may have arrived', async () => {
    const body = '{"command":"wait"}';
    const head = `POST /api/v1/sandboxes/sb-1/exec HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: ${body.length}`;
    const { text } = await rawExchange(http.port, `${head}\r\n\r\n${body}${GET}X-A: `, 10_000);
    expect(text).toContain('408');
    expect(text).not.toContain('nothing_done');
  });
});
