// Which answers a drain waits for: those that have begun and not ended, in whatever order they came and went.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { inFlight } from '../../../src/http/in-flight.ts';

const connection = () => ({ on: vi.fn(), destroy: vi.fn(), destroySoon: vi.fn() }) as unknown as Socket;
const answerOn = (socket: Socket, headersSent = false) =>
  ({ socket, headersSent, setHeader: vi.fn() }) as unknown as ServerResponse;

it('a drain ends connections without an answer at once, and the others after theirs', () => {
  const running = inFlight();
  const [idle, ended, busy, late] = [connection(), connection(), connection(), connection()] as const;
  for (const socket of [idle, ended, busy, late]) running.connected(socket);
  const first = running.started(answerOn(ended));
  const open = answerOn(busy);
  const endOpen = running.started(open);
  first(ended);
  // It takes the place of the one that has ended.
  const sent = answerOn(late, true);
  const endSent = running.started(sent);
  running.drain();
  expect([idle, ended, busy, late].map(({ destroy }) => vi.mocked(destroy).mock.calls.length)).toEqual([
    1, 1, 0, 0,
  ]);
  expect(vi.mocked(open.setHeader)).toHaveBeenCalledWith('Connection', 'close');
  expect(vi.mocked(sent.setHeader)).not.toHaveBeenCalled();
  endOpen(busy);
  endSent(late);
  expect([busy, late].map(({ destroySoon }) => vi.mocked(destroySoon).mock.calls.length)).toEqual([1, 1]);
});
