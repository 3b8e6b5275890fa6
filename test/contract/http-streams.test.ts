// Bodies that flow: uploads cut off at their limit, downloads that never look complete when they are not, execs at the
// reader's pace, and clients that leave in the middle.
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fakeClock } from '../support/fakes/ports.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const MEBIBYTE = 1024 * 1024;
const FILES = '/sandboxes/sb-x/files';
let http: TestHttp;
beforeAll(async () => {
  http = await startHttp();
});
afterAll(() => http.server.close(0));
afterEach(() => http.control.failing.clear());

function open(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  target = http,
): ClientRequest {
  return httpRequest(target.base + path, { method, headers, agent: false });
}
async function answer(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}
async function textOf(response: IncomingMessage): Promise<string> {
  return Buffer.concat(await response.toArray()).toString();
}
const bytes = { 'content-type': 'application/octet-stream' };
const json = { 'content-type': 'application/json' };

describe('raw uploads', () => {
  it('arrive unchanged, with and without a length', async () => {
    const content = Buffer.from(Array.from({ length: 3 * MEBIBYTE }, (_, i) => (i * 7) % 256));
    for (const headers of [{ ...bytes, 'content-length': String(content.length) }, bytes]) {
      const request = open('PUT', `${FILES}/raw`, headers);
      request.end(content);
      const response = await answer(request);
      expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([
        200,
        { size: content.length },
      ]);
      expect(http.control.fileMap.get('/raw')?.equals(content)).toBe(true);
    }
  });

  it('without bytes make an empty file, with and without a length', async () => {
    for (const [path, headers] of [
      ['/none', { ...bytes, 'content-length': '0' }],
      ['/chunked', { ...bytes, 'transfer-encoding': 'chunked' }],
    ] as const) {
      const response = await answer(open('PUT', `${FILES}${path}`, headers).end());
      expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([200, { size: 0 }]);
      expect(http.control.fileMap.get(path)?.length).toBe(0);
    }
  });

  it('over the limit are refused by their length, before a byte is read', async () => {
    const request = open('PUT', `${FILES}/big`, { ...bytes, 'content-length': String(17 * MEBIBYTE) });
    request.on('error', () => {});
    request.flushHeaders();
    const response = await answer(request);
    expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([
      413,
      { code: 'payload_too_large' },
    ]);
    request.destroy();
    expect(http.control.fileMap.has('/big')).toBe(false);
  });

  it('over the limit without a length are cut off and leave no file', async () => {
    const request = open('PUT', `${FILES}/big`, bytes);
    request.on('error', () => {});
    Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(MEBIBYTE))).pipe(request);
    const response = await answer(request);
    expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([
      413,
      { code: 'payload_too_large' },
    ]);
    expect(http.control.fileMap.has('/big')).toBe(false);
  });

  it('that break off fail the write', async () => {
    const before = http.control.asked.length;
    const request = open('PUT', `${FILES}/broken`, { ...bytes, 'content-length': '1000' });
    request.on('error', () => {});
    request.write('half');
    await until('the write has begun', () => http.control.asked.length > before);
    request.destroy();
    await until('the signal aborts', () => http.control.signals.at(-1)?.aborted);
    expect(http.control.fileMap.has('/broken')).toBe(false);
  });
});

describe('a refused upload', () => {
  it('lets the client read why while it is still sending', async () => {
    http.control.failing.set('files.write', new Error('no'));
    const request = open('PUT', `${FILES}/refused`, { ...bytes, 'content-length': String(8 * MEBIBYTE) });
    request.on('error', () => {});
    Readable.from(Array.from({ length: 8 }, () => Buffer.alloc(MEBIBYTE))).pipe(request);
    const response = await answer(request);
    expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([
      500,
      { code: 'internal' },
    ]);
  });
});

describe('downloads', () => {
  const broken = (after: number, length: number) => {
    async function* pieces() {
      yield Buffer.alloc(after);
      throw new Error('the runtime was lost');
    }
    const read = http.control.files.read;
    http.control.files.read = async () => ({
      info: { path: '/f', name: 'f', size: length, mode: '644', is_dir: false, type: 'file', mod_time: '' },
      content: Readable.from(pieces()),
      length,
    });
    return () => {
      http.control.files.read = read;
    };
  };

  it.each([1, 100_000])('that break after %i bytes never look complete', async (after) => {
    const restore = broken(after, 1_000_000);
    const request = open('GET', `${FILES}?path=/f`);
    request.end();
    const response = await answer(request);
    expect(response.headers['content-length']).toBe('1000000');
    await expect(textOf(response)).rejects.toThrow('aborted');
    restore();
    expect(
      http.logger.lines.some(({ message }) => message === 'Response stream failed; closing the connection.'),
    ).toBe(true);
  });

  it('stop reading the file when the client leaves', async () => {
    let content: Readable | undefined;
    const read = http.control.files.read;
    http.control.fileMap.set('/f', Buffer.alloc(12 * MEBIBYTE));
    http.control.files.read = async (...args) => {
      const result = await read(...args);
      content = result.content;
      return result;
    };
    const request = open('GET', `${FILES}?path=/f`);
    request.on('error', () => {});
    request.end();
    (await answer(request)).destroy();
    await until('the content is destroyed', () => content?.destroyed);
    http.control.files.read = read;
  });
});

describe('a streamed exec', () => {
  const start = (command: string) => {
    const request = open('POST', '/sandboxes/sb-x/exec', json);
    request.on('error', () => {});
    request.end(JSON.stringify({ command, stream: true }));
    return request;
  };

  it('sends its first line at once and ends with its client', async () => {
    const request = start('wait');
    const response = await answer(request);
    const [line] = (await once(response, 'data')) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ stream: 'start' });
    response.on('error', () => {});
    request.destroy();
    await until('the signal aborts', () => http.control.signals.at(-1)?.aborted);
  });

  it('waits for a client that does not read', async () => {
    let made = 0;
    const stream = http.control.exec.stream;
    http.control.exec.stream = async () =>
      (async function* () {
        for (; made < 10_000; made += 1) yield { stream: 'stdout' as const, data: 'x'.repeat(65_536) };
      })();
    const socket = connect(http.port, '127.0.0.1');
    const body = '{"command":"x","stream":true}';
    socket.write(
      `POST /api/v1/sandboxes/sb-x/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('output is under way', () => made > 0);
    let last = -1;
    await until('it stands still', () => {
      const still = made === last;
      last = made;
      return still;
    });
    expect(made).toBeLessThan(500);
    socket.destroy();
    http.control.exec.stream = stream;
  });

  it('carries a flood of output completely', async () => {
    const text = await textOf(await answer(start('flood 300')));
    const lines = text.trim().split('\n');
    expect([lines.length, text.length > 300 * 65_536]).toEqual([302, true]);
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ stream: 'exit' });
  });

  it('breaks the connection, not the answer, when the command is lost', async () => {
    const stream = http.control.exec.stream;
    http.control.exec.stream = async () =>
      (async function* () {
        yield { stream: 'start' as const, data: '' };
        throw new Error('lost');
      })();
    await expect(textOf(await answer(start('x')))).rejects.toThrow('aborted');
    http.control.exec.stream = stream;
  });

  it('ends when its client leaves before the answer', async () => {
    const before = http.control.signals.length;
    const request = open('POST', '/sandboxes/sb-x/exec', json);
    request.on('error', () => {});
    request.end(JSON.stringify({ command: 'wait' }));
    await until('it runs', () => http.control.signals.length > before);
    request.destroy();
    await until('the signal aborts', () => http.control.signals.at(-1)?.aborted);
  });
});

describe('large JSON files', () => {
  it('over the limit are refused', async () => {
    const large = JSON.stringify({ path: '/f', content: 'x'.repeat(9 * MEBIBYTE) });
    const answered = await fetch(`${http.base}${FILES}`, { method: 'POST', headers: json, body: large });
    expect(answered.status).toBe(413);
  });
});

describe('a body that arrives too slowly', () => {
  it('closes the connection of the client', async () => {
    const clock = fakeClock();
    const slow = await startHttp({ clock });
    const socket = connect(slow.port, '127.0.0.1').setEncoding('utf8');
    let text = '';
    socket.on('data', (part) => {
      text += part;
    });
    socket.write(
      'POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{',
    );
    await until('the watch is set', () => clock.pending() > 0);
    await clock.advance(20_000);
    expect(text).toBe('');
    const closed = once(socket, 'close');
    await clock.advance(5_000);
    await closed;
    expect(text).toMatch(/^HTTP\/1\.1 408 .*"code":"timeout"/s);
    expect(slow.control.asked).toEqual([]);
    await slow.server.close(0);
  });
});
