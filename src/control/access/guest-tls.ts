// TLS to a program in a sandbox that speaks it on its port. Whose certificate it has does not matter: the connection leads into
// the sandbox and nowhere else.
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';

const HANDSHAKE_MS = 10_000;

/** The connection once it is secured; it ends with the tunnel. Throws `unavailable` with status 502 where that fails. */
export function securedTunnel(tunnel: Duplex, clock: Clock): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const secured = connect({ socket: tunnel, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
    const fail = (cause?: unknown) => {
      timer.cancel();
      secured.destroy();
      tunnel.destroy();
      reject(
        new ServiceError('unavailable', 'The program in the sandbox does not speak TLS on this port.', {
          status: 502,
          cause,
        }),
      );
    };
    const timer = clock.after(HANDSHAKE_MS, fail);
    secured.once('error', fail);
    tunnel.once('close', () => secured.destroy());
    secured.once('close', () => tunnel.destroy());
    secured.once('secureConnect', () => {
      timer.cancel();
      secured.off('error', fail).on('error', () => secured.destroy());
      resolve(secured);
    });
  });
}
