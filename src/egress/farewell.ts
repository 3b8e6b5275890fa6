// The last answer to a program: a connection that is reset at once may lose it before the program reads it.
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/ports.ts';

const LINGER_MS = 10_000;

/** Sends `bytes` and ends. What the program still sends is dropped; after 10 s the connection is reset. */
export function farewell(client: Duplex, clock: Clock, bytes?: Buffer): void {
  if (client.destroyed) return;
  const timer = clock.after(LINGER_MS, () => client.destroy());
  client.once('close', () => timer.cancel());
  if (!client.writableEnded) client.end(bytes);
  client.resume();
}
