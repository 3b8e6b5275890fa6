// Large answers on real connections: one that nobody takes is destroyed after a minute, one that is taken slowly is not,
// and the event loop turns while it is written.

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { dropIfStalled, writePieces } from '../../../src/http/write-pieces.ts';
import { fakeClock } from '../../support/fakes/ports.ts';
import { until } from '../../support/until.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function pair(serve: (response: ServerResponse) => void): Promise<Socket> {
  const server = createServer((_request, response) => serve(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  closers.push(() => {
    socket.destroy();
    server.close();
  });
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}

function* megabytes(count: number): Generator<Buffer> {
  for (let n = 0; n < count * 16; n++) yield Buffer.alloc(65_536, 'x');
}

it('an unread answer is destroyed after a minute', async () => {
  const clock = fakeClock();
  let response: ServerResponse | undefined;
  let isOver = false;
  await pair((given) => {
    response = given;
    void writePieces(given, megabytes(64), { clock }).then(() => {
      isOver = true;
    });
  });
  await until('it waits', () => clock.pending() > 0);
  await clock.advance(59_000);
  expect(response?.destroyed).toBe(false);
  await clock.advance(2_000);
  expect(response?.destroyed).toBe(true);
  await until('it has given up', () => isOver);
});

it('a slowly read answer continues to its end', async () => {
  const clock = fakeClock();
  let ended = false;
  const socket = await pair((given) => {
    void writePieces(given, megabytes(16), { clock });
    given.once('finish', () => {
      ended = true;
    });
  });
  let bytes = 0;
  socket.on('data', (part) => {
    bytes += part.length;
    socket.pause();
  });
  for (let n = 0; n < 10_000 && !ended; n++) {
    await clock.advance(10_000);
    // What the kernel keeps between the two is not ours to count.
    for (let part = 0; part < 20; part++) {
      socket.resume();
      await new Promise(setImmediate);
    }
  }
  expect(ended).toBe(true);
  expect(bytes).toBeGreaterThan(10 * 1024 * 1024);
});

it('an unread last piece is destroyed after a minute, too', async () => {
  const clock = fakeClock();
  let response: ServerResponse | undefined;
  await pair((given) => {
    response = given;
    given.end(Buffer.alloc(64 * 1024 * 1024));
    dropIfStalled(given, clock);
  });
  await until('it waits', () => clock.pending() > 0);
  await clock.advance(61_000);
  expect(response?.destroyed).toBe(true);
});

it('an answer behind another one waits for its turn', async () => {
  const clock = fakeClock();
  const responses: ServerResponse[] = [];
  const socket = await pair((given) => {
    responses.push(given);
    if (responses.length === 2) void writePieces(given, megabytes(1), { clock });
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until('both have come', () => responses.length === 2 && clock.pending() > 0);
  await clock.advance(300_000);
  expect(responses.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  responses[0]?.end('first');
  socket.resume();
  await until('both are sent', () => responses.every(({ writableFinished }) => writableFinished));
});

it('the event loop runs while pieces are made', async () => {
  let now = 0;
  let made = false;
  function* slow(): Generator<Buffer> {
    for (let n = 0; n < 100; n++) {
      now += 3;
      yield Buffer.alloc(10);
    }
    made = true;
  }
  let turns = 0;
  await pair((given) => void writePieces(given, slow(), { clock: { ...fakeClock(), monotonic: () => now } }));
  while (!made) {
    await new Promise(setImmediate);
    if (now > 0) turns += 1;
  }
  expect(turns).toBeGreaterThan(30);
});
