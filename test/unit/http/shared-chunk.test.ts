// A block that many answers get reaches each client as if it were written by itself, between other writes and in both framings.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { writeShared } from '../../../src/http/shared-chunk.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const BLOCK = Buffer.from('block ü\n');

/** All that the server sends to `request`. */
async function answerTo(request: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { Connection: 'close' });
    response.write('before\n');
    writeShared(response, BLOCK);
    writeShared(response, BLOCK);
    response.end('after\n');
  });
  closers.push(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(request);
  let answer = '';
  for await (const part of socket) answer += String(part);
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

it('it is a chunk of its own in a chunked answer', async () => {
  expect(await answerTo('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toBe(
    '7\r\nbefore\n\r\n9\r\nblock ü\n\r\n9\r\nblock ü\n\r\n6\r\nafter\n\r\n0\r\n\r\n',
  );
});

it('it goes as it is to a client of HTTP/1.0', async () => {
  expect(await answerTo('GET / HTTP/1.0\r\nHost: x\r\n\r\n')).toBe('before\nblock ü\nblock ü\nafter\n');
});
