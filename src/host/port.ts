// Whether a port can be listened on, tried by listening for a moment.
import { createServer } from 'node:net';

/** The seam's `portFault`. */
export function portFault(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
