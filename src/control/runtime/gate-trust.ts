// Which authority the programs of a sandbox trust: TLS is ended under that one alone.
import tls from 'node:tls';
import type { SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { EgressAuthority } from '../../egress/egress.ts';
import type { Authorities } from './authorities.ts';

let text: string | undefined;
/** For systems without certificates of their own. Joined with the first sandbox that trusts an authority: most servers have none. */
function roots(): string {
  text ??= `${tls.rootCertificates.join('\n')}\n`;
  return text;
}

export const untrusted = () =>
  new ServiceError('provider_error', 'Programs of the sandbox cannot be made to trust this server.', {
    remedy: 'Spawn it without egress credentials. `svc sandbox logs` shows the reason.',
  });

/** The newest that programs of the sandbox can be made to trust; undefined: none. Rejects as the session and the store do. */
export async function trustedAuthority(
  { gate }: Pick<SandboxIo, 'gate'>,
  authorities: Pick<Authorities, 'all'>,
): Promise<EgressAuthority | undefined> {
  if (!gate?.trust) return undefined;
  for (const authority of await authorities.all())
    if ((await gate.trust(authority.certificate, roots())).files) return authority;
  return undefined;
}
