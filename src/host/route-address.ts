// The address of this host on its route to another one, as the kernel chooses it. Nothing is sent.
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';

/** Rejects when `host` cannot be resolved or no route leads there. */
export async function routeAddress(host: string): Promise<string> {
  const { address, family } = await lookup(host.replace(/^\[|\]$/g, ''));
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  try {
    // Connecting a datagram socket only chooses the route; the port does not matter.
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(9, address, resolve);
    });
    return socket.address().address;
  } finally {
    socket.close();
  }
}
