// A listener with TLS for the interface of E2B (`e2b.listen`). Its connections are those of the one HTTP server, with all its
// limits; only what they may ask for is less.
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { ServiceError } from '../../domain/errors.ts';
import { parseListen } from '../../domain/listen-address.ts';

const HANDSHAKE_MS = 15_000;

export interface KeyPair {
  /** PEM. */
  cert: string;
  key: string;
}

export interface ListenerTls extends KeyPair {
  /** Calls `use` with each newer pair; returns what ends that. */
  renew(use: (pair: KeyPair) => void): () => void;
}

export interface TlsListener {
  /** The port. Throws `unavailable` where it cannot listen. */
  listen(): Promise<number>;
  /** Takes no more connections. Those that are open are the HTTP server's. */
  close(): void;
}

const ours = new WeakSet<object>();

/** Whether a connection came by the listener. */
export const isByListener = (socket: object): boolean => ours.has(socket);

/** `limit` bounds the connections before they are secured. Throws `bad_request` for a certificate that is none. */
export function tlsListener(
  http: HttpServer,
  { listen, tls, limit }: { listen: string; tls: ListenerTls; limit(server: Server): void },
): TlsListener {
  const options = ({ cert, key }: KeyPair) => ({ cert, key, minVersion: 'TLSv1.2' as const });
  const server = secureServer({ ...options(tls), handshakeTimeout: HANDSHAKE_MS, allowHalfOpen: true });
  limit(server);
  server.on('secureConnection', (socket: TLSSocket) => {
    ours.add(socket);
    http.emit('connection', socket);
  });
  // Also a client that speaks plain HTTP, or ends before the handshake does.
  server.on('tlsClientError', (_error, socket: Socket) => socket.destroy());
  const stopRenewing = tls.renew((pair) => server.setSecureContext(options(pair)));
  return {
    listen: () => listening(server, listen),
    close: () => {
      stopRenewing();
      server.close();
    },
  };
}

type Secure = ReturnType<typeof createServer>;

function secureServer(options: Parameters<typeof createServer>[0]): Secure {
  try {
    return createServer({ ...options, ALPNProtocols: ['http/1.1'] });
  } catch (cause) {
    throw new ServiceError('bad_request', 'The certificate of e2b.listen and its key cannot be used.', {
      cause,
      remedy: 'Check that e2b.cert_file and e2b.key_file are PEM files that belong together.',
    });
  }
}

function listening(server: Secure, text: string): Promise<number> {
  const { host, port } = parseListen(text);
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE';
      reject(
        new ServiceError(
          'unavailable',
          isTaken ? `The address ${text} is in use.` : `The server cannot listen on ${text}.`,
          {
            cause,
            remedy: isTaken ? 'Stop the program that uses it, or set e2b.listen.' : 'Check e2b.listen.',
          },
        ),
      );
    });
    server.listen({ port, ...(host !== '' && { host }) }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}
