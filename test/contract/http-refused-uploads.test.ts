// Uploads that are refused before they have arrived completely: the connection stays good for the next request.
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const BODY = Buffer.alloc(8 * 1024 * 1024, 1);

let http: TestHttp;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
beforeAll(async () => {
  http = await startHttp();
});
beforeEach(() => {
  const refuse = async () => {
    throw new ServiceError('conflict', 'A folder has this name.');
  };
  Object.assign(http.control.files, { write: refuse, unpack: refuse });
});
afterAll(async () => {
  agent.destroy();
  await http.server.close(0);
});

interface Upload {
  headers: Record<string, string>;
  body: Buffer;
}

/** The status, and the port from which it was asked. */
function call(method: string, url: string, upload?: Upload) {
  return new Promise<[status: number | undefined, from: number | undefined]>((resolve, reject) => {
    const asked = request(url, { agent, method, headers: upload?.headers ?? {} }, (answer) => {
      const from = asked.socket?.localPort;
      answer.resume().once('end', () => resolve([answer.statusCode, from]));
    });
    asked.once('error', reject).end(upload?.body);
  });
}

/** Three times, with a request after each. */
async function keepsConnection(method: string, url: string, upload: Upload, status: number): Promise<void> {
  const [, first] = await call('GET', `${http.base}/health`);
  for (let go = 0; go < 3; go++) {
    expect(await call(method, url, upload)).toEqual([status, first]);
    expect(await call('GET', `${http.base}/health`)).toEqual([200, first]);
  }
}

it.each([
  ['a file', '/sandboxes/sb-x/files/w/f', 'application/octet-stream'],
  ['an archive', '/sandboxes/sb-x/archive?path=/w', 'application/x-tar'],
])('%s', (_, path, type) =>
  keepsConnection('PUT', `${http.base}${path}`, { headers: { 'content-type': type }, body: BODY }, 409),
);

describe('of E2B, compressed', () => {
  const RAW = 'application/octet-stream';
  const FORM = 'multipart/form-data; boundary=b';
  const large = gzipSync(randomBytes(BODY.length));
  const part = (name: string, content: Buffer | string) =>
    Buffer.concat([
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]);
  const form = (...parts: Buffer[]) => gzipSync(Buffer.concat([...parts, Buffer.from('--b--\r\n')]));
  let token: Record<string, string>;
  beforeAll(async () => {
    const made = await fetch(`${http.url}/v2/sandboxes`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: '{"templateID":"base"}',
    });
    const { sandboxID: id } = (await made.json()) as { sandboxID: string };
    token = { 'e2b-sandbox-id': id, 'x-access-token': `access ${id}` };
  });
  const upload = (type: string, body: Buffer): Upload => ({
    headers: { ...token, 'content-type': type, 'content-encoding': 'gzip' },
    body,
  });

  it.each<[string, number, string, string, Buffer]>([
    ['a file that cannot be written', 409, '/files?path=/f', RAW, large],
    ['a part that cannot be written', 409, '/files?path=/f', FORM, form(part('a', randomBytes(BODY.length)))],
    ['no path', 400, '/files', RAW, BODY],
    ['another type', 400, '/files?path=/f', 'text/plain', BODY],
    ['another coding inside a form', 400, '/files?path=/f', FORM, BODY],
  ])('%s', (_, status, path, type, body) =>
    keepsConnection('POST', `${http.url}${path}`, upload(type, body), status),
  );

  const reads = () => {
    http.control.files.write = async (_, path, body) => {
      let size = 0;
      for await (const chunk of body) size += (chunk as Buffer).length;
      return { status: 'written', path, size, atomic: true };
    };
  };

  it.each([
    ['bytes that are not gzip', BODY],
    ['gzip that breaks off', large.subarray(0, -100)],
  ])('%s', async (_, body) => {
    reads();
    await keepsConnection('POST', `${http.url}/files?path=/f`, upload(RAW, body), 400);
  });

  it('more than a file may have', async () => {
    reads();
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const sent = upload(RAW, Buffer.concat([bomb, randomBytes(BODY.length)]));
    await keepsConnection('POST', `${http.url}/files?path=/f`, sent, 413);
  });

  it('the same path twice', async () => {
    reads();
    const twice = form(part('a', 'x'), part('a', randomBytes(BODY.length)));
    await keepsConnection('POST', `${http.url}/files`, upload(FORM, twice), 400);
  });

  it('is written, and zeros after its end hold nothing up', async () => {
    reads();
    const body = Buffer.concat([gzipSync('content'), Buffer.alloc(BODY.length)]);
    await keepsConnection('POST', `${http.url}/files?path=/f`, upload(RAW, body), 200);
  });

  it.each(['gzip', 'identity'])(
    'a part that is under way when another fails ends with it: %s',
    async (coding) => {
      const ended: string[] = [];
      http.control.files.write = async (_, path, body) => {
        if (path.endsWith('/a')) throw new ServiceError('conflict', 'A folder has this name.');
        try {
          for await (const _chunk of body as Readable);
          throw new Error('all of the part arrived');
        } catch (error) {
          ended.push((error as Error).message);
          throw error;
        }
      };
      const parts = form(part('a', 'x'), part('b', randomBytes(BODY.length)));
      const sent = upload(FORM, coding === 'gzip' ? parts : gunzipSync(parts));
      sent.headers['content-encoding'] = coding;
      await keepsConnection('POST', `${http.url}/files`, sent, 409);
      await until('the other parts to end', () => ended.length === 3);
      expect(new Set(ended)).toEqual(new Set(['The upload is incomplete.']));
    },
  );

  it.each([
    ['/files', RAW],
    ['/files?path=/f', 'text/plain'],
    ['/files?path=/f', RAW],
  ])('outlives a client that leaves within a refused upload: %s %s', async (path, type) => {
    for (const bytes of ['no gzip', large.subarray(0, 1000)]) {
      const socket = connect(http.port, '127.0.0.1').on('error', () => undefined);
      const headers = { ...upload(type, BODY).headers, host: 'x', 'content-length': '9999' };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
      socket.write(bytes);
      await pause(100);
      socket.destroy();
      await pause(50);
    }
    const [status] = await call('POST', `${http.url}${path}`, upload(type, Buffer.from('no gzip')));
    expect([400, 409]).toContain(status);
    expect((await call('GET', `${http.base}/health`))[0]).toBe(200);
  });
});
