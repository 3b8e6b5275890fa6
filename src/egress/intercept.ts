// Ends the TLS of a program for a host that has a credential: its requests are then read, decided and sent on by TLS of the
// server's own.
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../domain/ports.ts';
import { textOf, wantedOf } from './decide.ts';
import type { EgressAuthority } from './egress.ts';
import { EgressRefusal } from './refusal.ts';

const HANDSHAKE_MS = 10_000;

/**
 * Resolves with what the program sends inside TLS. Rejects with `sni_mismatch` for another server name, `timeout` and
 * `tls_failed`; the connection is then closed.
 */
export function endTls(
  client: Duplex,
  name: string,
  authority: EgressAuthority,
  clock: Clock,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    let refusal = new EgressRefusal('tls_failed');
    const secured = new TLSSocket(client as never, {
      isServer: true,
      secureContext: authority.contextFor(name),
      ALPNProtocols: ['http/1.1'],
      SNICallback: (asked, done) => {
        if (isName(asked, name)) return done(null, authority.contextFor(name));
        refusal = new EgressRefusal('sni_mismatch');
        done(refusal);
      },
    });
    const timer = clock.after(HANDSHAKE_MS, () => {
      refusal = new EgressRefusal('timeout');
      secured.destroy();
    });
    secured.on('error', () => undefined);
    secured.once('close', () => {
      timer.cancel();
      client.destroy();
      reject(refusal);
    });
    secured.once('secure', () => {
      timer.cancel();
      resolve(secured);
    });
  });
}

function isName(asked: string, name: string): boolean {
  try {
    return textOf(wantedOf(asked, 443).host) === name;
  } catch {
    return false;
  }
}
