// Reads the first bytes of a program's connection without taking more than was read: what follows belongs to others.
import type { Duplex } from 'node:stream';
import { EgressRefusal } from './refusal.ts';

/** Waits until `parse` has seen enough; what is beyond its `size` goes back. Rejects when the program ends first. */
export async function readStart<T extends { readonly kind: string; readonly size?: number }>(
  client: Duplex,
  parse: (bytes: Buffer) => T,
): Promise<T> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = client.read() as Buffer | null;
    if (chunk === null) await readable(client);
    else {
      bytes = Buffer.concat([bytes, chunk]);
      const parsed = parse(bytes);
      if (parsed.kind === 'more') continue;
      const rest = bytes.subarray(parsed.size ?? 0);
      if (rest.length > 0) client.unshift(rest);
      return parsed;
    }
  }
}

function readable(client: Duplex): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      client.off('readable', ready).off('end', gone).off('close', gone);
    };
    const ready = () => {
      stop();
      resolve();
    };
    const gone = () => {
      stop();
      reject(new EgressRefusal('unreachable'));
    };
    if (client.destroyed || client.readableEnded) return gone();
    client.on('readable', ready).on('end', gone).on('close', gone);
  });
}
