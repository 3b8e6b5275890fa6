// Answers of Firecracker's API that Node ends a request for without an error and without a response.
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { firecrackerApi } from '../../../../src/providers/microvm/firecracker/api.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

it('refuses an answer that switches the protocol', async () => {
  const path = join(temporaryFolder(), 'api.sock');
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    );
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const clock = fakeClock();
  const answer = firecrackerApi(clock, path).about(new AbortController().signal);
  await expect(answer).rejects.toMatchObject({ code: 'provider_error' });
  expect(clock.pending()).toBe(0);
});
