// Previews of a fake control plane: ports of its sandboxes are ports of this machine, reached over a plain Duplex as the
// agent's tunnels are, so that nothing can rely on a socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import type { Previews } from '../../../src/control/api/previews.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Clock } from '../../../src/domain/ports.ts';
import { PREVIEW_TOKEN } from '../../../src/domain/preview.ts';
import { previewKey, previewTokenEnd, signPreview } from '../../../src/domain/preview-token.ts';

export interface FakePreviews extends Previews {
  /** From a sandbox's port to one of this machine. */
  readonly ports: Map<number, number>;
  /** Tunnels that are open. */
  readonly tunnels: Set<Duplex>;
  /** A token for `port` of `sandbox_id` that ends in `ms`. */
  token(sandbox_id: string, port: number, ms?: number): string;
}

export function fakePreviews(clock: Clock, note: (method: string, ...args: unknown[]) => void): FakePreviews {
  const key = previewKey('a key of this fake, long enough to be one', '');
  const ports = new Map<number, number>();
  const tunnels = new Set<Duplex>();
  const token: FakePreviews['token'] = (sandbox_id, port, ms = 60_000) =>
    signPreview(key, { sandbox_id, port }, clock.now() + ms);
  return {
    ports,
    tunnels,
    token,
    async link(id, { port }, caller, seen) {
      note('previews.link', caller, id, port, seen);
      const end = new Date(clock.now() + 60_000).toISOString();
      return { url: `${seen.scheme}://${port}-${id}.x/?${PREVIEW_TOKEN}=t`, expires_at: end };
    },
    async listening(id, caller) {
      note('previews.listening', caller, id);
      return [{ port: 8080, addresses: ['127.0.0.1'] }];
    },
    endOfToken: (target, one) => previewTokenEnd(key, target, one, clock.now()),
    async visit(target, signal, { caller }) {
      return { tunnel: await this.open(target, signal, caller) };
    },
    async open(target, signal, caller) {
      note('previews.open', caller, target);
      const port = ports.get(target.port);
      if (port === undefined) throw new ServiceError('unavailable', 'Nothing listens.', { status: 502 });
      const tunnel = await tunnelTo(port);
      tunnels.add(tunnel);
      tunnel.once('close', () => tunnels.delete(tunnel));
      signal.addEventListener('abort', () => tunnel.destroy(), { once: true });
      return tunnel;
    },
  };
}

/** To a port of this machine. */
export async function tunnelTo(port: number): Promise<Duplex> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  await once(socket, 'connect');
  const tunnel: Duplex = new Duplex({
    allowHalfOpen: true,
    read: () => void socket.resume(),
    write: (chunk, _, done) => void socket.write(chunk, () => done()),
    final: (done) => void socket.end(() => done()),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk) => void (tunnel.push(chunk) || socket.pause()));
  socket.on('end', () => tunnel.push(null)).on('close', () => tunnel.destroy());
  return tunnel.on('error', () => undefined);
}
