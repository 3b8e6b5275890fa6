// A request without a body ends with its answer; one with a body that nobody has read, or whose end somebody waits for, as ever.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, it } from 'vitest';
import { ServedRequest } from '../../../src/http/served-request.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello';
const CHUNKED = 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';

/** Sends the texts over one connection, each after the answer before; what `listen` was given. */
async function served(texts: readonly string[], listen: RequestListener): Promise<ServedRequest[]> {
  const requests: ServedRequest[] = [];
  const server = createServer({ IncomingMessage: ServedRequest }, (request, response) => {
    requests.push(request);
    listen(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  for (const text of texts) {
    socket.write(text);
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toContain('200 OK');
  }
  socket.destroy();
  await new Promise((resolve) => server.close(resolve));
  return requests;
}

it('ends with the answer, and is not made to flow', async () => {
  const requests = await served([GET, GET], (_, response) => response.end('x'));
  expect(requests.map(({ readableEnded, readableFlowing }) => [readableEnded, readableFlowing])).toEqual([
    [true, null],
    [true, null],
  ]);
});

it.each([
  ['with a length', POST],
  ['in chunks', CHUNKED],
])('takes a body %s that nobody reads off the connection', async (_, text) => {
  const requests = await served([text, GET, text, GET], (_request, response) => response.end('x'));
  expect(requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST', 'GET']);
  expect(requests[0]?.readableFlowing).toBe(true);
});

it('tells who waits for its end', async () => {
  const events: string[] = [];
  await served([GET], (request, response) => {
    request.once('close', () => events.push('close'));
    response.end('x');
  });
  expect(events).toEqual(['close']);
});
