// Guests of previews that do not keep to HTTP: whatever they send is bounded, becomes one typed answer or a connection that
// breaks off, and never a second answer for somebody.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fakeClock } from '../support/fakes/ports.ts';
import { rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { visit } from '../support/servers/preview-visit.ts';
import { until } from '../support/until.ts';

const HOST = '80-sb-known0000000.preview.test';
const server = { preview_domain: 'preview.test' };

let http: TestHttp;
let guest: Server;
let speak: (socket: Socket, first: string) => void = () => {};
const sockets = new Set<Socket>();

beforeAll(async () => {
  guest = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
    socket.once('data', (data) => speak(socket, data.toString('latin1')));
  }).listen(0, '127.0.0.1');
  await once(guest, 'listening');
  http = await startHttp({ server });
  http.control.previews.ports.set(80, (guest.address() as AddressInfo).port);
});
afterAll(async () => {
  await http.server.close(0);
  guest.close();
});
afterEach(async () => {
  await until('no tunnel', () => http.control.previews.tunnels.size === 0);
  await until('no connection', () => sockets.size === 0);
});

const says = (bytes: string, keeps = false) => {
  speak = (socket) => (keeps ? socket.write(bytes, 'latin1') : socket.end(bytes, 'latin1'));
};
const OK = 'HTTP/1.1 200 OK\r\n';

describe('an answer is refused entirely', () => {
  it.each([
    ['nothing', ''],
    ['not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['another HTTP version', 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi'],
    ['an incomplete head', `${OK}Content-Le`],
    ['endless headers', `${OK}${'X: y\r\n'.repeat(20_000)}`],
    ['more headers than Node keeps', `${OK}${'X:\r\n'.repeat(2500)}\r\n`],
    ['an endless header', `${OK}X: ${'y'.repeat(100_000)}`],
    ['an endless status line', `HTTP/1.1 200 ${'y'.repeat(100_000)}`],
    ['two lengths', `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nhix`],
    [
      'both a length and a coding',
      `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`,
    ],
    ['an invalid length', `${OK}Content-Length: 2x\r\n\r\nhi`],
    ['a negative length', `${OK}Content-Length: -2\r\n\r\nhi`],
    ['another coding', `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n`],
    ['a last coding that is not chunked', `${OK}Transfer-Encoding: chunked, gzip\r\n\r\nhi`],
    ['a folded header', `${OK}A: b\r\n c\r\nContent-Length: 0\r\n\r\n`],
    ['a NUL', `${OK}A: b\0c\r\nContent-Length: 0\r\n\r\n`],
    ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi'],
    [
      'a protocol that was not requested',
      'HTTP/1.1 101 Up\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw',
    ],
    ['a switch to no protocol', 'HTTP/1.1 101 Up\r\n\r\n'],
    ['a status of 0', 'HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n'],
    ['a status of 999', 'HTTP/1.1 999 Much\r\nContent-Length: 0\r\n\r\n'],
    ['a flood of interim answers', `${'HTTP/1.1 103 Hints\r\nLink: </x>\r\n\r\n'.repeat(200)}${OK}\r\n`],
  ])('when it is %s', async (_, bytes) => {
    says(bytes);
    const answer = await visit(http.port, HOST);
    expect(answer).toMatchObject({ status: 502, text: expect.stringContaining('"code":"unavailable"') });
  });
});

describe('an answer ends at its stated length', () => {
  it.each([
    ['a second answer behind it', `${OK}Content-Length: 2\r\n\r\nhi${OK}Content-Length: 3\r\n\r\nbad`, 'hi'],
    ['more than its length', `${OK}Content-Length: 2\r\n\r\nhi and more`, 'hi'],
    [
      'more than its last chunk',
      `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n${OK}\r\nbad`,
      'hi',
    ],
    ['a body where none is allowed', 'HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\nhello', ''],
    [
      'a few interim answers before it',
      `HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 H\r\n\r\n${OK}Content-Length: 2\r\n\r\nhi`,
      'hi',
    ],
    ['no length at all', `${OK}\r\nhi`, 'hi'],
    [
      'trailers',
      `${OK}Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nhi\r\n0\r\nX-T: t\r\n\r\n`,
      'hi',
    ],
  ])('with %s', async (_, bytes, text) => {
    says(bytes, !bytes.startsWith(`${OK}\r\n`));
    const host = `Host: ${HOST}\r\n`;
    const { text: all } = await rawExchange(
      http.port,
      `GET / HTTP/1.1\r\n${host}\r\nGET / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`,
    );
    expect(all).not.toMatch(/bad|and more|hello|x-t/i);
    expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(
      Array(2).fill(bytes.includes('204') ? 'HTTP/1.1 204' : 'HTTP/1.1 200'),
    );
    expect(all.split(text === '' ? 'never' : text)).toHaveLength(text === '' ? 1 : 3);
  });

  it.each([
    ['less than its length', `${OK}Content-Length: 20\r\n\r\nhi`],
    ['an end between its chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhi`],
    ['an invalid chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nzz\r\n`],
  ])('and breaks off visibly with %s', async (_, bytes) => {
    says(bytes);
    await expect(visit(http.port, HOST)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
});

describe('WebSockets', () => {
  const ask = (path = '/') =>
    rawExchange(
      http.port,
      `GET ${path} HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`,
      2000,
    );
  const UP = 'HTTP/1.1 101 Up\r\nConnection: Upgrade\r\n';

  it.each([
    ['without an accept header', `${UP}Upgrade: websocket\r\n\r\n`],
    [
      'with a wrong accept header',
      `${UP}Upgrade: websocket\r\nSec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n`,
    ],
    [
      'to another protocol',
      `${UP}Upgrade: h2c\r\nSec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n\r\n`,
    ],
  ])('are not opened when the guest agrees %s', async (_, bytes) => {
    says(bytes);
    const { text } = await ask();
    expect(text).toMatch(/^HTTP\/1\.1 502 /);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
  });

  it('that the guest refuses end the connection: no later bytes become a request', async () => {
    const paths: string[] = [];
    speak = (socket, first) => {
      paths.push(first.split(' ')[1] ?? '');
      socket.end(`${OK}Content-Length: 2\r\n\r\nno`);
    };
    const { text, closed } = await ask('/ws');
    expect(text).toMatch(/^HTTP\/1\.1 200 [\s\S]*no$/);
    expect([closed, paths]).toEqual([true, ['/ws']]);
  });
});

describe('silence', () => {
  it('before an answer ends the request after two minutes', async () => {
    const clock = fakeClock();
    const own = await startHttp({ server, clock });
    own.control.previews.ports.set(80, (guest.address() as AddressInfo).port);
    speak = (socket) => {
      socket.write(OK);
    };
    const answer = visit(own.port, HOST, '/', { headers: { accept: 'text/html' } });
    await until('the guest is asked', () => sockets.size === 1);
    // Slow bytes of a head are no answer.
    await clock.advance(60_000);
    for (const socket of sockets) socket.write('X: y\r\n');
    await clock.advance(60_000);
    expect(await answer).toMatchObject({ status: 504, text: expect.stringContaining('in time') });
    await own.server.close(0);
  });

  it('inside a body ends the connection later', async () => {
    const clock = fakeClock();
    const own = await startHttp({ server, clock });
    own.control.previews.ports.set(80, (guest.address() as AddressInfo).port);
    says(`${OK}Content-Length: 9\r\n\r\nhi`, true);
    const answer = visit(own.port, HOST);
    const failed = expect(answer).rejects.toThrow();
    await until('the answer has begun', () => own.control.previews.tunnels.size === 1 && sockets.size === 1);
    await until('it is watched', () => clock.pending() > 0);
    for (let n = 0; n < 4; n++) await clock.advance(600_000);
    await failed;
    await own.server.close(0);
  });
});
