// Connections through Firecracker's socket: what it agrees to, however it is cut, and what it must not get away with.
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { connectVsock } from '../../../../src/providers/microvm/firecracker/vsock.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

/** A socket where `serve` gets each connection. */
async function listening(serve: (socket: Socket) => void): Promise<string> {
  const path = join(temporaryFolder(), 'vsock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    serve(socket);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return path;
}

const never = new AbortController().signal;
const dial = async (path: string, clock = realClock(), signal = never) => {
  const socket = await connectVsock({ clock, path, port: 1024, ms: 5000 }, signal);
  onTestFinished(() => void socket.destroy());
  return socket;
};

it('sends one line, and keeps the bytes of the guest behind the answer', async () => {
  let asked = '';
  const path = await listening((socket) => {
    socket.on('data', (chunk) => {
      asked += chunk;
      if (asked === 'CONNECT 1024\n')
        for (const piece of ['OK 10737', '41824\nhel', 'lo']) socket.write(piece);
    });
  });
  const socket = await dial(path);
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk;
  });
  socket.resume();
  await until('the guest is heard', () => heard === 'hello');
  socket.write('more');
  await until('the guest hears', () => asked === 'CONNECT 1024\nmore');
});

it.each([
  ['hangs up', (socket: Socket) => socket.end()],
  ['refuses', (socket: Socket) => socket.write('NO 1\n')],
  ['never ends its line', (socket: Socket) => socket.write(`OK ${'1'.repeat(100_000)}`)],
  ['ends its line too late', (socket: Socket) => socket.write(`OK ${'1'.repeat(40)}\n`)],
])('is unavailable where it %s', async (_what, serve) => {
  const path = await listening(serve);
  await expect(dial(path)).rejects.toMatchObject({ code: 'unavailable' });
});

it('is unavailable where nobody listens', async () => {
  const nowhere = join(temporaryFolder(), 'none');
  await expect(dial(nowhere)).rejects.toMatchObject({ code: 'unavailable' });
});

it('is unavailable without an answer in time', async () => {
  const clock = fakeClock();
  let isCalled = false;
  const path = await listening(() => {
    isCalled = true;
  });
  const failure = expect(dial(path, clock)).rejects.toMatchObject({ code: 'unavailable' });
  await until('it is called', () => isCalled);
  await clock.advance(5000);
  await failure;
});

it('ends with its caller', async () => {
  const stop = new AbortController();
  const path = await listening(() => stop.abort(new Error('enough')));
  await expect(dial(path, realClock(), stop.signal)).rejects.toThrow('enough');
});
