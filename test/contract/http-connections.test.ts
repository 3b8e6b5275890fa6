// More connections than a server takes: those that are there go on, further ones are closed.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rawExchange, startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const GET = 'GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\n';
let http: TestHttp;
beforeAll(async () => {
  http = await startHttp({ server: { max_connections: 5 } });
});
afterAll(() => http.server.close(0));

it('closes connections beyond the limit, and accepts new ones once others close', async () => {
  const held = Array.from({ length: 5 }, () => rawExchange(http.port, `${GET}\r\n`, 1000));
  await until(
    'all are served',
    () => http.logger.lines.filter(({ message }) => message === 'request').length >= 5,
  );
  expect(await rawExchange(http.port, `${GET}\r\n`)).toEqual({ text: '', closed: true });
  for (const { text } of await Promise.all(held)) expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(http.logger.lines).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining('refusing new connections') }),
  );
  await until(
    'a place',
    async () => (await rawExchange(http.port, `${GET}Connection: close\r\n\r\n`)).text !== '',
  );
});
