// Ports for programs that cannot be told to take any.
import { type AddressInfo, createServer } from 'node:net';

/** Nobody listened on it a moment ago, on 127.0.0.1. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
