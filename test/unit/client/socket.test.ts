// Messages that the client sends over the WebSocket of an exec.
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { Client } from '../../../src/client/client.ts';
import { until } from '../../support/until.ts';

let server: WebSocketServer;
const received: unknown[] = [];
beforeEach(async () => {
  received.length = 0;
  server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  server.on('connection', (socket: WebSocket) =>
    socket.on('message', (data) => received.push(JSON.parse(String(data)))),
  );
  await new Promise((resolve) => server.once('listening', resolve));
});
afterEach(() => {
  for (const socket of server.clients) socket.terminate();
  server.close();
});

it('resizes a terminal with an object, or with rows and columns as numbers', async () => {
  const { port } = server.address() as AddressInfo;
  const client = new Client({ server: `http://127.0.0.1:${port}` });
  const socket = await client.openExec('sb-1', { command: 'sh', tty: true, rows: 24, cols: 80 });
  socket.resize({ cols: 120, rows: 40 });
  socket.resize(33, 99);
  await until('both sizes to arrive', () => received.length === 3);
  expect(received).toEqual([
    { type: 'start', command: 'sh', tty: true, rows: 24, cols: 80, binary: true },
    { type: 'resize', cols: 120, rows: 40 },
    { type: 'resize', cols: 99, rows: 33 },
  ]);
  socket.close();
});
