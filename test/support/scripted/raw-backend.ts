// A server that answers each connection with what a test says, byte for byte: for answers that no HTTP library would give.

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface RawBackend {
  url: string;
  port: number;
  /** Connections so far. */
  readonly connections: number;
  /** What was received on all of them. */
  readonly received: string;
  close(): Promise<void>;
}

/** `answer` is called with the connection once its first bytes are there. */
export async function rawBackend(answer: (socket: Socket, asked: string) => void): Promise<RawBackend> {
  const open = new Set<Socket>();
  const seen = { connections: 0, received: '' };
  const server = createServer((socket) => {
    seen.connections++;
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    socket.on('data', (data) => {
      seen.received += data.toString('latin1');
      answer(socket, data.toString('latin1'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get connections() {
      return seen.connections;
    },
    get received() {
      return seen.received;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An answer of HTTP with its length. */
export function httpAnswer(status: string, body: string | Buffer, headers: readonly string[] = []): Buffer {
  const bytes = Buffer.from(body);
  const head = [`HTTP/1.1 ${status}`, `content-length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
}
