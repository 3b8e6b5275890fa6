// TLS towards a target that gets a credential: verified in full, by the name that was decided.
import type { X509Certificate } from 'node:crypto';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import type { Clock } from '../domain/ports.ts';
import { EgressRefusal } from './refusal.ts';
import type { Opened } from './tunnel.ts';
import type { FrontGate } from './visit.ts';

/** Resolves with the secured stream, which owns the connection. Rejects with the refusal that ended the passage. */
export function secure(
  { passage, upstream }: Opened,
  name: string,
  { connectMs, roots }: Pick<FrontGate, 'connectMs' | 'roots'>,
  clock: Clock,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const isSecured = passage.securing();
    const secured: TLSSocket = connect({
      socket: upstream,
      servername: name,
      ALPNProtocols: ['http/1.1'],
      secureContext: contextOf(roots),
      checkServerIdentity: (host) => identityFault(secured.getPeerX509Certificate(), host),
      // Whatever the environment of the server says.
      rejectUnauthorized: true,
    });
    // Node would describe every certificate of the chain for the check of the name, which takes longer than the check.
    secured.getPeerCertificate = (() => ({})) as unknown as TLSSocket['getPeerCertificate'];
    const fail = (reason: 'tls_failed' | 'timeout') => {
      timer.cancel();
      // What has ended the passage comes first.
      passage.drop(new EgressRefusal(reason));
      secured.destroy();
      reject(new EgressRefusal(passage.verdict.reason));
    };
    const timer = clock.after(connectMs, () => fail('timeout'));
    const failed = () => fail('tls_failed');
    secured.once('error', failed).once('close', failed);
    secured.once('secureConnect', () => {
      timer.cancel();
      isSecured();
      secured.off('error', failed).off('close', failed);
      secured.on('error', () => undefined).once('close', () => upstream.destroy());
      resolve(secured);
    });
  });
}

/** OpenSSL compares the name; `checkHost` answers with the name of the certificate that it found. */
function identityFault(certificate: X509Certificate | undefined, host: string): Error | undefined {
  if (certificate?.checkHost(host, { partialWildcards: false }) !== undefined) return undefined;
  return new Error('The certificate is for another name.');
}

const OF_NODE: readonly string[] = [];
/** Reading the authorities takes longer than a handshake. */
const contexts = new WeakMap<readonly string[], SecureContext>();

function contextOf(roots: readonly string[] = OF_NODE): SecureContext {
  const known = contexts.get(roots);
  if (known) return known;
  const ca = roots === OF_NODE ? {} : { ca: [...roots] };
  const context = createSecureContext({ minVersion: 'TLSv1.2', ...ca });
  contexts.set(roots, context);
  return context;
}
