// Requests that leave Node's own parser: their sockets have no listener but ours.
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { answerConnectAndExpect } from '../../../src/http/connect-and-expect.ts';
import { fakeIds } from '../../support/fakes/ports.ts';

it('a reset connection of a CONNECT request is destroyed without an exception', () => {
  const server = createServer();
  answerConnectAndExpect(server, fakeIds());
  const socket = new PassThrough();
  server.emit('connect', {}, socket, Buffer.alloc(0));
  // Throws where nobody listens, and would end the process.
  socket.emit('error', new Error('read ECONNRESET'));
  expect(socket.destroyed).toBe(true);
});
