// Calls on image stores over a fake control plane: what they take, how progress and archives travel, and hostile input.
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { ServiceError } from '../../src/domain/errors.ts';
import { undescribed } from '../support/checks/openapi-check.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';

const LIMIT = 1024 * 1024;
let http: TestHttp;

beforeAll(async () => {
  http = await startHttp({ images: { max_image_bytes: LIMIT, max_entries: 1 } });
});
afterAll(() => http.server.close(0));
beforeEach(() => {
  http.control.failing.clear();
  http.control.asked.length = 0;
});

async function call(method: string, path: string, init: RequestInit = {}) {
  const url = http.base + path;
  const answer = await fetch(url, { method, ...init });
  const body = await answer.text();
  const found = { status: answer.status, type: answer.headers.get('content-type'), body };
  expect(undescribed({ method, url }, found)).toBeUndefined();
  return { ...found, headers: answer.headers };
}
const json = (body: unknown) => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});
const tar = (body: string, type = 'application/x-tar') => ({ body, headers: { 'content-type': type } });
const asked = () => http.control.asked.at(-1);

it('lists a page, and names workers that are missing', async () => {
  const { status, headers } = await call('GET', '/images?name=team/*&limit=5&worker=w1');
  expect([status, headers.get('x-unavailable-workers')]).toEqual([200, 'w2']);
  expect(asked()?.args).toEqual([{ name: 'team/*', limit: 5, worker: 'w1' }]);
  expect((await call('GET', '/images/get?name=team/tool:1')).status).toBe(200);
});

it('refuses what cannot be meant, before a store is asked', async () => {
  const long = 'a'.repeat(10_000);
  const wrong = [
    await call('GET', `/images?name=${long}`),
    await call('GET', '/images?limit=0'),
    await call('GET', '/images?limit=101'),
    await call('GET', `/images?cursor=${long}`),
    await call('GET', '/images/get'),
    await call('GET', `/images/get?name=${long}`),
    await call('POST', '/images/pull', json({ image: long })),
    await call('POST', '/images/pull', json({ image: 'i', pull: 'never' })),
    await call('POST', '/images/pull', json({ image: 'i', platform: 'linux/../etc' })),
    await call('POST', '/images/tag', json({ name: 'i' })),
    await call('DELETE', '/images'),
    await call('DELETE', `/images?name=${long}`),
    await call('POST', '/images/prune', json({ unused_for: 5 })),
    await call('POST', '/images/import'),
  ];
  expect(wrong.map(({ status }) => status)).toEqual(wrong.map(() => 400));
  expect(http.control.asked).toEqual([]);
  for (const type of ['application/json', 'text/plain'])
    expect((await call('POST', '/images/import', tar('{}', type))).status).toBe(415);
  expect(http.control.asked).toEqual([]);
});

it('streams progress and ends with the outcome', async () => {
  const { body, type } = await call('POST', '/images/pull', json({ image: 'i', stream: true }));
  expect(type).toBe('application/x-ndjson');
  const lines = body.split('\n').filter((line) => line !== '');
  expect(lines.map((line) => JSON.parse(line).stage)).toEqual(['fetch', 'done']);
  http.control.failing.set('images.watchPull', new ServiceError('forbidden', 'Not this registry.'));
  expect((await call('POST', '/images/pull', json({ image: 'i', stream: true }))).status).toBe(403);
});

it('takes archives of both types up to the limit, and ends longer ones', async () => {
  for (const type of ['application/x-tar', 'application/octet-stream'])
    expect((await call('POST', '/images/import?name=i', tar('x'.repeat(LIMIT), type))).status).toBe(200);
  expect(asked()?.args).toEqual([{ name: 'i' }, LIMIT]);
  http.control.asked.length = 0;
  expect((await call('POST', '/images/import', tar('x'.repeat(LIMIT + 5000)))).status).toBe(413);
  // Without a length, the limit shows while it arrives.
  expect(await endless(`${http.base}/images/import`)).toBe(413);
  expect(http.control.asked).toEqual([]);
});

it('keeps the name of what was pulled, tagged, imported and deleted in the audit', async () => {
  const targets = async (method: string, path: string, init?: RequestInit) => {
    await call(method, path, init);
    return http.control.audited[0]?.target;
  };
  expect(await targets('POST', '/images/pull', json({ image: 'a/b:1' }))).toBe('a/b:1');
  expect(await targets('POST', '/images/tag', json({ name: 'i', as: 'a/c:1' }))).toBe('a/c:1');
  expect(await targets('POST', '/images/import?name=a/d', tar('x'))).toBe('a/d');
  expect(await targets('DELETE', '/images?name=a/e')).toBe('a/e');
});

/** Sends until an answer comes; its status. */
function endless(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { 'content-type': 'application/x-tar' } });
    const piece = Buffer.alloc(64 * 1024);
    let isAnswered = false;
    const send = () => {
      if (isAnswered) return;
      if (sent.write(piece)) setImmediate(send);
      else sent.once('drain', send);
    };
    sent.once('response', (answer) => {
      isAnswered = true;
      resolve(answer.statusCode ?? 0);
      sent.destroy();
    });
    sent.on('error', (error) => !isAnswered && reject(error));
    send();
  });
}
