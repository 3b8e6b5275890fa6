// The WebSocket exec over a fake control plane: what is refused before it opens, what is said on it, and clients that do
// not keep to it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { ServiceError } from '../../src/domain/errors.ts';
import { fakeSandbox } from '../support/fakes/control-plane.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { API_KEY, rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const ID = 'sb-known0000000';
const PATH = `/api/v1/sandboxes/${ID}/exec/ws`;
const auth = { enabled: true, api_key: API_KEY };
const key = { 'x-api-key': API_KEY };

let http: TestHttp;
let keyed: TestHttp;
beforeAll(async () => {
  [http, keyed] = await Promise.all([
    startHttp({ server: { cors_allowed_origins: ['https://app.example.com'] } }),
    startHttp({ auth }),
  ]);
  for (const { control } of [http, keyed]) control.sandboxMap.set(ID, fakeSandbox(ID));
});
afterAll(() => Promise.all([http.server.close(0), keyed.server.close(0)]));
afterEach(() => {
  http.control.failing.clear();
  http.control.asked.length = 0;
});

const socketTo = (target: TestHttp, options: WebSocket.ClientOptions = {}, protocols: string[] = []) =>
  new WebSocket(target.url.replace('http', 'ws') + PATH, protocols, options);

/** All that is said until the close. */
async function conversation(ws: WebSocket, ...first: (object | Buffer | string)[]) {
  const said: Record<string, unknown>[] = [];
  const binary: Buffer[] = [];
  ws.on('message', (data: Buffer, isBinary) =>
    isBinary ? binary.push(data) : said.push(JSON.parse(data.toString())),
  );
  ws.on('open', () => {
    for (const message of first) send(ws, message);
  });
  const [code] = (await once(ws, 'close')) as [number];
  return { said, binary, code };
}
const send = (ws: WebSocket, message: object | Buffer | string) =>
  ws.send(Buffer.isBuffer(message) || typeof message === 'string' ? message : JSON.stringify(message));
const asked = (method: string) => http.control.asked.filter((call) => call.method === method);

/** The answer to a handshake that is refused. */
async function refused(ws: WebSocket) {
  const [, response] = await once(ws, 'unexpected-response');
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, headers: response.headers, body: JSON.parse(body) };
}

describe('WebSockets of several owners', () => {
  it('are shared: a lone owner may hold all, and gives them up for other owners', async () => {
    const few = await startHttp({ maxSockets: 4 });
    few.control.sandboxMap.set(ID, fakeSandbox(ID));
    const closed: string[] = [];
    const open = async (owner?: string) => {
      const ws = socketTo(few, owner === undefined ? {} : { headers: { 'x-user-id': owner } });
      ws.on('close', (code) => closed.push(`${owner} ${code}`));
      ws.on('error', () => {});
      const answer = once(ws, 'open').then(() => 'open');
      return Promise.race([answer, once(ws, 'unexpected-response').then(([, { statusCode }]) => statusCode)]);
    };
    for (let n = 0; n < 4; n += 1) expect(await open('mallory')).toBe('open');
    expect(await open('mallory')).toBe(429);
    expect([await open('ann'), await open('ann')]).toEqual(['open', 'open']);
    await until('two to give way', () => closed.length >= 2);
    expect(closed).toEqual(['mallory 1013', 'mallory 1013']);
    expect([await open('ann'), await open('mallory')]).toEqual([429, 429]);
    await few.server.close(0);
  });
});

describe('the handshake', () => {
  it('answers 426 to an ordinary request', async () => {
    const answer = await fetch(http.url + PATH);
    expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'websocket']);
    expect(await answer.json()).toMatchObject({ code: 'bad_request' });
  });

  it.each([
    ['no key', 'keyed', {}, 401],
    ['a wrong key', 'keyed', { headers: { 'x-api-key': 'x' } }, 401],
    ['a page of another origin', 'http', { origin: 'https://evil.example.com' }, 403],
    ['an invalid owner', 'http', { headers: { 'x-user-id': 'a/b' } }, 400],
    ['another version', 'http', { protocolVersion: 8 }, 400],
  ] as const)('is refused for %s in the shape of every error', async (_, which, options, status) => {
    const answer = await refused(
      socketTo(which === 'http' ? http : keyed, options as WebSocket.ClientOptions),
    );
    expect(answer).toMatchObject({
      status,
      body: { code: expect.any(String), request_id: expect.any(String) },
    });
    expect(answer.headers['x-request-id']).toBe(answer.body.request_id);
  });

  it('answers unknown sandboxes and paths as plain requests', async () => {
    const unknown = new WebSocket(`${http.url.replace('http', 'ws')}/api/v1/sandboxes/sb-no/exec/ws`);
    expect(await refused(unknown)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const nowhere = new WebSocket(`${http.url.replace('http', 'ws')}/nowhere`);
    expect(await refused(nowhere)).toMatchObject({ status: 404 });
    const other = new WebSocket(`${http.url.replace('http', 'ws')}/api/v1/live`);
    expect(await refused(other)).toMatchObject({ status: 200, body: { status: 'alive' } });
  });

  it('accepts listed pages, our own pages, and a key as a subprotocol', async () => {
    const start = { type: 'start', command: 'flood 0' };
    for (const origin of ['https://app.example.com', http.url])
      expect(await conversation(socketTo(http, { origin }), start)).toMatchObject({ code: 1000 });
    const name = `svc.key.${Buffer.from(API_KEY).toString('base64url')}`;
    const ws = socketTo(keyed, {}, ['svc.v1', name, `svc.user.${Buffer.from('ann').toString('base64url')}`]);
    expect(await conversation(ws, start)).toMatchObject({ code: 1000 });
    expect(ws.protocol).toBe('svc.v1');
    expect(keyed.control.asked.at(-1)?.caller).toMatchObject({ owner: 'ann' });
    const wrong = `svc.key.${Buffer.from('no').toString('base64url')}`;
    expect(await refused(socketTo(keyed, {}, ['svc.v1', wrong]))).toMatchObject({ status: 401 });
    expect(await conversation(socketTo(keyed, { headers: key }), start)).toMatchObject({ code: 1000 });
    expect(JSON.stringify(keyed.logger.lines)).not.toContain(name);
  });

  it('serves requests that offer another protocol', async () => {
    const offer =
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';
    const get = `GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n${offer}\r\n`;
    const body = '{"ttl":"5m"}';
    const post = `POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\n${offer}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const last = 'GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const { text } = await rawExchange(http.port, get + post + last);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 201', 'HTTP/1.1 200']);
    expect(asked('sandboxes.spawn').at(-1)?.args[0]).toEqual({ ttl: '5m' });
  });
});

describe('a handshake behind another request', () => {
  it('waits for the answer before it', async () => {
    const get = 'GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const upgrade = `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`;
    const { text } = await rawExchange(http.port, get + get + upgrade, 300);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 101']);
  });
});

describe('a conversation', () => {
  const cat = { type: 'start', command: 'cat' };

  it('starts, takes input in every form, and ends with the exit code', async () => {
    const text = { type: 'stdin', data: 'tür \ud83d' };
    const base64 = { type: 'stdin', data: Buffer.from('b64 ').toString('base64'), encoding: 'base64' };
    const { said, code } = await conversation(
      socketTo(http),
      { ...cat, env: { A: '1' }, tty: true, rows: 3 },
      ...[text, base64, Buffer.from('bin'), { type: 'resize', cols: 9, rows: 8 }, { type: 'stdin_close' }],
    );
    expect(said[0]).toEqual({ type: 'started', exec_id: 'ex-aaaaaaaaaaaa' });
    const output = said.filter(({ type }) => type === 'stdout').map(({ data }) => data);
    expect(output.join('')).toBe('tür \ufffdb64 bin');
    expect(said.at(-1)).toEqual({ type: 'exit', exit_code: 0, duration_ms: 1 });
    expect(code).toBe(1000);
    expect(asked('exec.open')[0]?.args[1]).toEqual({
      ...{ command: 'cat', env: { A: '1' }, tty: { rows: 3, cols: 80 } },
    });
    expect(asked('live.resize')[0]?.args).toEqual([8, 9]);
  });

  it('reports that the command waits for the end of its input', async () => {
    const { said } = await conversation(
      socketTo(http),
      { type: 'start', command: 'buffered' },
      Buffer.from('x'),
      { type: 'stdin_close' },
    );
    expect(said[0]).toEqual({ type: 'started', exec_id: 'ex-aaaaaaaaaaaa', starts_at_stdin_end: true });
    expect(said.at(-1)).toMatchObject({ type: 'exit', exit_code: 0 });
  });

  it('sends output as bytes on request', async () => {
    const { said, binary } = await conversation(
      socketTo(http),
      { ...cat, binary: true },
      Buffer.from([0, 255]),
      { type: 'stdin_close' },
    );
    expect(Buffer.concat(binary)).toEqual(Buffer.from([1, 0, 255]));
    expect(said.map(({ type }) => type)).toEqual(['started', 'exit']);
  });

  it('passes signals on, also behind input that the command does not read', async () => {
    const { said } = await conversation(
      socketTo(http),
      { type: 'start', command: 'stuck' },
      Buffer.alloc(1000),
      { type: 'signal', signal: 'term' },
    );
    expect(said.at(-1)).toMatchObject({ type: 'exit', exit_code: 143, signal: 'SIGTERM' });
  });

  it('keeps a command on request, and follows a kept one with its input', async () => {
    await conversation(socketTo(http), { ...cat, keep: true, tty: true }, { type: 'stdin_close' });
    expect(asked('exec.open')[0]?.args[1]).toEqual({
      ...{ command: 'cat', keep: '', mustKeep: true, tty: { rows: 24, cols: 80 } },
    });
    const exec_id = 'ex-aaaaaaaaaaaa';
    const { said, binary, code } = await conversation(
      socketTo(http),
      { type: 'attach', exec_id, binary: true, rows: 5, cols: 6 },
      Buffer.from('more'),
      { type: 'stdin_close' },
    );
    expect(said[0]).toEqual({ type: 'started', exec_id, truncated: true });
    expect(Buffer.concat(binary).subarray(1).toString()).toBe('more');
    expect([said.at(-1)?.type, code]).toEqual(['exit', 1000]);
    expect(asked('exec.resume')[0]?.args).toEqual([{ id: ID, exec_id }]);
    expect(asked('live.resize')[0]?.args).toEqual([5, 6]);
    const none = await conversation(socketTo(http), { type: 'attach', exec_id: 'ex-none' });
    expect(none).toMatchObject({ said: [{ type: 'error', code: 'not_found' }], code: 1008 });
  });

  it('kills the command when the client leaves', async () => {
    const ws = socketTo(http);
    ws.on('open', () => send(ws, cat));
    await once(ws, 'message');
    ws.terminate();
    await until('the abort', () => http.control.signals.at(-1)?.aborted === true);
  });

  it.each([
    ['a first message that is not a start', { type: 'stdin', data: '' }],
    ['bytes first', Buffer.from('x')],
    ['a message that is not JSON', '{'],
    ['a list', '[]'],
    ['an unknown field', { ...cat, stream: true }],
    ['standard input as text', { ...cat, stdin: 'x' }],
    ['a terminal of no size', { ...cat, tty: true, rows: 0 }],
    ['no command', { type: 'start' }],
    ['a command that is kept and detached', { ...cat, keep: true, detach: true }],
    ['an attach to nothing', { type: 'attach' }],
    ['an attach with a command', { type: 'attach', exec_id: 'ex-aaaaaaaaaaaa', command: 'cat' }],
    ['an attach with half a size', { type: 'attach', exec_id: 'ex-aaaaaaaaaaaa', rows: 5 }],
  ])('refuses %s', async (_, message) => {
    const { said, code } = await conversation(socketTo(http), message);
    expect([said, code]).toEqual([
      [{ type: 'error', code: 'bad_request', message: expect.any(String) }],
      1008,
    ]);
    expect(asked('exec.open')).toEqual([]);
  });

  it.each([
    ['a second start', cat],
    ['an unknown type', { type: 'exec' }],
    ['a field name from Object.prototype', { type: 'constructor' }],
    ['a size that is not a number', { type: 'resize', cols: 'x', rows: 1 }],
    ['invalid base64', { type: 'stdin', data: '*', encoding: 'base64' }],
  ])('ends with %s after the start', async (_, message) => {
    const { said, code } = await conversation(socketTo(http), cat, message);
    expect(said.at(-1)).toMatchObject({ type: 'error', code: 'bad_request' });
    expect(code).toBe(1008);
    await until('the kill', () => http.control.signals.at(-1)?.aborted === true);
  });

  it('reports the error of the service', async () => {
    http.control.failing.set('exec.open', new ServiceError('unavailable', 'Not now.'));
    const { said, code } = await conversation(socketTo(http), cat);
    expect([said, code]).toEqual([[{ type: 'error', code: 'unavailable', message: 'Not now.' }], 1011]);
    const details = { reason: 'max_exec_timeout' };
    http.control.failing.set('exec.open', new ServiceError('resource_limit', 'Too long.', { details }));
    const limited = await conversation(socketTo(http), cat);
    expect(limited.said).toEqual([{ type: 'error', code: 'resource_limit', message: 'Too long.', details }]);
  });

  it('ends at frames that break the protocol or are too large', async () => {
    const big = await conversation(socketTo(http), cat, Buffer.alloc(1024 * 1024 + 1));
    expect(big.code).toBe(1009);
    const raw = connect(http.port, '127.0.0.1');
    const parts: Buffer[] = [];
    raw.on('data', (part) => parts.push(part)).on('error', () => undefined);
    raw.write(
      `GET ${PATH} HTTP/1.1\r\nHost: x.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
    );
    await until('the upgrade', () => Buffer.concat(parts).includes('101 Switching'));
    // Unmasked, reserved bits set, an opcode that there is not.
    raw.write(Buffer.from([0xff, 0x05, 1, 2, 3, 4, 5]));
    await once(raw, 'close');
  });
});

describe('flow and time', () => {
  it('stops the program for a reader that stops', async () => {
    const ws = socketTo(http);
    ws.on('open', () => send(ws, { type: 'start', command: 'flood 2000', binary: true }));
    await once(ws, 'message');
    ws.pause();
    let before = -1;
    const made = () => asked('live.flood').length;
    await until(
      'the program to wait',
      () => {
        const same = made() === before;
        before = made();
        return same;
      },
      100,
    );
    expect(made()).toBeLessThan(500);
    ws.resume();
    const [code] = (await once(ws, 'close')) as [number];
    expect([code, made()]).toEqual([1000, 2000]);
  });

  it('reports on stderr that a deadline ended the command, as text or bytes', async () => {
    const start = { type: 'start', command: 'late' };
    const notice = `exec timeout: ${ID}\n`;
    const { said } = await conversation(socketTo(http), start);
    expect(said).toMatchObject([
      { type: 'started' },
      { type: 'stderr', data: notice },
      { type: 'exit', exit_code: 124, timed_out: true },
    ]);
    const coded = await conversation(socketTo(http), { ...start, encoding: 'base64' });
    expect(coded.said[1]).toEqual({ type: 'stderr', data: Buffer.from(notice).toString('base64') });
    const ws = socketTo(http);
    const bytes: Buffer[] = [];
    ws.on('message', (data, isBinary) => isBinary && bytes.push(data as Buffer));
    ws.on('open', () => send(ws, { ...start, binary: true }));
    await once(ws, 'close');
    expect(bytes).toEqual([Buffer.concat([Buffer.of(2), Buffer.from(notice)])]);
  });

  it('stops reading from a client whose input the command does not read', async () => {
    const ws = socketTo(http);
    await once(ws, 'open');
    send(ws, { type: 'start', command: 'stuck' });
    for (let i = 0; i < 400; i += 1) ws.send(Buffer.alloc(65_536));
    await until('the first input', () => asked('live.stdin').length > 0);
    await until('the connection to fill', () => ws.bufferedAmount > 4 * 1024 * 1024);
    ws.terminate();
    await until('the abort', () => http.control.signals.at(-1)?.aborted === true);
  });

  it('closes a client that never starts, and one that answers no pings', async () => {
    const clock = fakeClock();
    const slow = await startHttp({ clock });
    slow.control.sandboxMap.set(ID, fakeSandbox(ID));
    const silent = socketTo(slow);
    await once(silent, 'open');
    const ended = conversation(silent);
    await until('the wait for it', async () => {
      await clock.advance(1000);
      return silent.readyState !== silent.OPEN;
    });
    expect(await ended).toMatchObject({ said: [{ type: 'error', code: 'timeout' }], code: 1008 });
    const dead = socketTo(slow, { autoPong: false });
    await once(dead, 'open');
    send(dead, { type: 'start', command: 'cat' });
    await once(dead, 'message');
    const closed = once(dead, 'close');
    await until('the cut', async () => {
      await clock.advance(20_000);
      return slow.control.signals.at(-1)?.aborted === true;
    });
    await closed;
    await slow.server.close(0);
  });

  it('notifies clients that the server stops', async () => {
    const going = await startHttp();
    going.control.sandboxMap.set(ID, fakeSandbox(ID));
    const ws = socketTo(going);
    ws.on('open', () => send(ws, { type: 'start', command: 'cat' }));
    await once(ws, 'message');
    const closed = once(ws, 'close');
    await going.server.close(5000);
    expect((await closed)[0]).toBe(1001);
    await until('the kill', () => going.control.signals.at(-1)?.aborted === true);
  });
});
