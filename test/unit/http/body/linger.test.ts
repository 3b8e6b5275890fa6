// What is refused is read on for a while, so that its sender comes to read the answer: as long as it comes quickly, not for ever.
import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { lingerOver } from '../../../../src/http/body/slow-body.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

function upload() {
  const clock = fakeClock();
  const socket = {
    bytesRead: 0,
    isDestroyed: false,
    destroy: () => {
      socket.isDestroyed = true;
    },
  };
  const request = Object.assign(new EventEmitter(), {
    socket,
    complete: false,
    destroyed: false,
    resume: () => undefined,
    unpipe: () => undefined,
  });
  lingerOver(request as unknown as IncomingMessage, clock);
  const passes = async (bytes: number) => {
    socket.bytesRead += bytes;
    await clock.advance(5_000);
    return socket.isDestroyed;
  };
  return { clock, request, passes };
}

it('reads on from a fast sender, and closes it once it slows down', async () => {
  const { passes } = upload();
  for (let count = 0; count < 4; count++) expect(await passes(5_000_000)).toBe(false);
  expect(await passes(1_000)).toBe(true);
});

it('closes a sender that never ends after a minute', async () => {
  const { passes } = upload();
  for (let count = 0; count < 11; count++) expect(await passes(5_000_000)).toBe(false);
  expect(await passes(5_000_000)).toBe(true);
});

it('keeps the connection of a sender that has finished', async () => {
  const { clock, request, passes } = upload();
  request.complete = true;
  request.emit('close');
  expect(clock.pending()).toBe(0);
  expect(await passes(0)).toBe(false);
});
