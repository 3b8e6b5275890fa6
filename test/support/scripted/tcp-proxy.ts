// A TCP proxy in front of a real server, with the faults of a network: silence, delay, half-open connections, and answers
// of PostgreSQL that never arrive.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface TcpProxy {
  port: number;
  /** `drop`: both directions vanish, connections stay; `refuse`: new connections are reset. */
  mode: 'pass' | 'drop' | 'refuse';
  /** Delays what the server sends. */
  delayMs: number;
  /** True for a request whose answer is lost: the server finishes it, then the connection ends. */
  losesAnswerOf: (request: Buffer) => boolean;
  /** Lost answers so far. */
  lost: number;
  /** Ends every connection: `reset` both sides, `half` only towards the client's reading side. */
  cut(how?: 'reset' | 'half'): void;
  open(): number;
}

export async function tcpProxy(target: () => number, facts: Partial<TcpProxy> = {}): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>();
  const proxy: TcpProxy = {
    ...{ port: 0, mode: 'pass', delayMs: 0, lost: 0 },
    losesAnswerOf: () => false,
    cut: (how = 'reset') => {
      for (const [client, server] of pairs) {
        if (how === 'half') client.end();
        else client.resetAndDestroy();
        if (how === 'reset') server.destroy();
      }
    },
    open: () => pairs.size,
    ...facts,
  };
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    client.on('error', () => {});
    if (proxy.mode === 'refuse') client.resetAndDestroy();
    else join(proxy, client, target(), pairs);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  proxy.port = (listener.address() as AddressInfo).port;
  onTestFinished(() => {
    for (const sockets of pairs) for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return proxy;
}

function join(proxy: TcpProxy, client: Socket, port: number, pairs: Set<[Socket, Socket]>): void {
  const server = connect({ port, host: '127.0.0.1', noDelay: true });
  client.setNoDelay(true);
  const pair: [Socket, Socket] = [client, server];
  pairs.add(pair);
  let isLosing = false;
  const end = () => {
    pairs.delete(pair);
    client.destroy();
    server.destroy();
  };
  server.on('error', end);
  server.on('close', end);
  client.on('close', end);
  client.on('data', (bytes) => {
    if (proxy.mode === 'drop') return;
    isLosing ||= proxy.losesAnswerOf(bytes);
    server.write(bytes);
  });
  server.on('data', (bytes) => {
    if (proxy.mode === 'drop') return;
    if (isLosing) {
      // The server is ready for the next request, so it has finished this one.
      if (!isReady(bytes)) return;
      proxy.lost++;
      return end();
    }
    if (proxy.delayMs === 0) client.write(bytes);
    else setTimeout(() => client.destroyed || client.write(bytes), proxy.delayMs);
  });
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const isReady = (bytes: Buffer) => bytes.subarray(-6).equals(READY);
