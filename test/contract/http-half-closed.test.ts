// Clients that end their side of the connection behind their request: who still reads gets the answer, who has gone is
// noticed, and no connection is left either way.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.server.close(0));
beforeEach(() => {
  http.control.signals.length = 0;
});

const API = '/api/v1/sandboxes/sb-x';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

function request(
  method: string,
  path: string,
  body = '',
  { type = 'application/json', version = '1.1' } = {},
) {
  const length = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/${version}\r\nHost: localhost\r\n${length}\r\n${body}`;
}
const exec = (command: string, stream = false, version = '1.1') =>
  request('POST', `${API}/exec`, JSON.stringify({ command, stream }), { version });

/** What comes before the other side closes. Our side is ended at once, with the request. */
function halfClosed(bytes: string): { socket: Socket; text: Promise<string> } {
  const socket = connect({ port: http.port, host: '127.0.0.1', allowHalfOpen: true });
  const parts: Buffer[] = [];
  const text = new Promise<string>((resolve, reject) => {
    socket.on('data', (part) => parts.push(part)).once('error', reject);
    socket.once('end', () => resolve(Buffer.concat(parts).toString()));
  });
  socket.end(bytes);
  return { socket, text };
}

const headOf = (text: string) => text.replaceAll(CONTINUE, '').split('\r\n')[0];

/** Execs answer after `ms`, as long as somebody waits. */
function slowExecs(ms: number): () => void {
  const { exec } = http.control;
  const { run } = exec;
  exec.run = async (...args) => {
    await pause(ms);
    return run(...args);
  };
  return () => {
    exec.run = run;
  };
}

describe('a client that half-closes gets the answer', () => {
  it('to a GET, at once and only once', async () => {
    const text = await halfClosed(request('GET', '/api/v1/live')).text;
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(headOf(text)).toBe('HTTP/1.1 200 OK');
  });

  it('to the last of several requests', async () => {
    const text = await halfClosed(request('GET', '/api/v1/live').repeat(20)).text;
    expect(text.match(/200 OK/g)).toHaveLength(20);
  });

  it.each([
    ['1.1', 2],
    ['1.0', 0],
  ])('to a slow exec over HTTP/%s, after %i interim responses', async (version, signs) => {
    const restore = slowExecs(1000);
    const text = await halfClosed(exec('echo x', false, version)).text;
    restore();
    expect(text.split(CONTINUE)).toHaveLength(signs + 1);
    expect(headOf(text)).toBe('HTTP/1.1 200 OK');
    expect(text).toContain('"exit_code":0');
    expect(http.control.signals.at(-1)?.aborted).toBe(false);
  });

  it('to a call that fails later, and the connection ends', async () => {
    const { exec: execs } = http.control;
    const { run } = execs;
    execs.run = async () => {
      await pause(50);
      throw new ServiceError('not_found', 'There is no such sandbox.');
    };
    const text = await Promise.race([halfClosed(exec('echo x')).text, pause(10_000, 'still open')]);
    execs.run = run;
    expect(headOf(text)).toBe('HTTP/1.1 404 Not Found');
  });

  it('to an upload', async () => {
    const put = request('PUT', `${API}/files/half`, 'content', { type: 'application/octet-stream' });
    expect(headOf(await halfClosed(put).text)).toBe('HTTP/1.1 200 OK');
    expect(http.control.fileMap.get('/half')?.toString()).toBe('content');
  });

  it('as a stream, with empty lines during silence', async () => {
    const { exec: execs } = http.control;
    const { stream } = execs;
    execs.stream = async (...args) => {
      const lines = await stream(...args);
      return (async function* () {
        for await (const line of lines) {
          yield line;
          await pause(500);
        }
      })();
    };
    const text = await halfClosed(exec('echo x', true)).text;
    execs.stream = stream;
    expect(text).toContain('\r\n\n\r\n');
    expect(text).toContain('"stream":"exit"');
    expect(text.endsWith('0\r\n\r\n')).toBe(true);
  });
});

describe('the server notices within a second that a client left', () => {
  it.each([
    ['an exec', exec('wait')],
    ['a stream', exec('wait', true)],
    ['a followed log', request('GET', `${API}/logs?follow=true`)],
  ])('while it waits for %s', async (_name, bytes) => {
    const socket = connect(http.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes);
    await until('it is served', () => http.control.signals.length > 0);
    await pause(50);
    const left = Date.now();
    // Nothing unread is left, so a FIN is all that goes out.
    socket.resume();
    socket.destroy();
    await until('the signal aborts', () => http.control.signals[0]?.aborted, 5000);
    expect(Date.now() - left).toBeLessThan(1000);
  });

  it('while it reads events', async () => {
    const socket = connect(http.port, '127.0.0.1');
    socket.on('error', () => {}).resume();
    socket.write(request('GET', '/api/v1/events'));
    await until('it reads', () => http.control.events.readers() === 1);
    socket.destroy();
    await until('it is forgotten', () => http.control.events.readers() === 0, 1000);
  });
});

describe('the connection is ended', () => {
  const closes = (socket: Socket, ms: number) =>
    Promise.race([
      new Promise<'closed'>((resolve) => socket.resume().once('end', () => resolve('closed'))),
      pause(ms, 'open'),
    ]);

  it('at once without a request', async () => {
    expect(await closes(halfClosed('').socket, 1000)).toBe('closed');
  });

  it('at once when idle between requests', async () => {
    const socket = connect({ port: http.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(request('GET', '/api/v1/live'));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.end();
    expect(await closes(socket, 1000)).toBe('closed');
  });

  it('at once when it ends inside a request', async () => {
    const put = request('PUT', `${API}/files/broken`, 'content', { type: 'application/octet-stream' });
    expect(await closes(halfClosed(put.slice(0, -1)).socket, 1000)).toBe('closed');
    expect(http.control.fileMap.has('/broken')).toBe(false);
  });

  it('after a grace period over HTTP/1.0, which has no interim responses', async () => {
    const { socket, text } = halfClosed(exec('wait', false, '1.0'));
    expect(await closes(socket, 5000)).toBe('closed');
    expect(await text).toBe('');
    await until('the signal aborts', () => http.control.signals[0]?.aborted);
  });
});
