// What says that a client has disconnected: a signal, and what stands for one.
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, vi } from 'vitest';
import type { Abort } from '../../../src/domain/abort.ts';
import { cutOff, Disconnect, disconnectSignal, isDisconnect } from '../../../src/http/client-disconnect.ts';

function answer() {
  const response = Object.assign(new EventEmitter(), {
    destroyed: false,
    closed: false,
    writableFinished: false,
  });
  const close = (isFinished: boolean) => {
    Object.assign(response, { destroyed: true, closed: true, writableFinished: isFinished });
    response.emit('close');
  };
  return { response: response as unknown as ServerResponse, close };
}

const KINDS: [string, (response: ServerResponse) => Abort][] = [
  ['the signal', disconnectSignal],
  ['what stands for it', (response) => new Disconnect(response)],
];

it.each(KINDS)('%s aborts when the connection ends before the answer is out', (_, made) => {
  const { response, close } = answer();
  const abort = made(response);
  const [called, removed, object] = [vi.fn(), vi.fn(), { handleEvent: vi.fn() }];
  abort.addEventListener('abort', called, { once: true });
  abort.addEventListener('abort', removed);
  abort.addEventListener('abort', object);
  abort.removeEventListener('abort', removed);
  abort.throwIfAborted();
  expect(abort.aborted).toBe(false);
  close(false);
  response.emit('close');
  expect([called, removed, object.handleEvent].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 1]);
  expect(abort.aborted).toBe(true);
  expect(isDisconnect(abort.reason)).toBe(true);
  expect(() => abort.throwIfAborted()).toThrow('The client closed the connection.');
});

it.each(KINDS)('%s does not abort after the answer, unless that was cut off', (_, made) => {
  for (const isCut of [false, true]) {
    const { response, close } = answer();
    const abort = made(response);
    const called = vi.fn();
    abort.addEventListener('abort', called);
    if (isCut) cutOff(response);
    close(true);
    expect(called).toHaveBeenCalledTimes(isCut ? 1 : 0);
    expect(abort.aborted).toBe(isCut);
  }
});

it.each(KINDS)('%s has aborted where the client has disconnected before', (_, made) => {
  const { response, close } = answer();
  close(false);
  expect(made(response).aborted).toBe(true);
});
