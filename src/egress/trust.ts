// Which authority the programs of a sandbox trust: TLS is ended under that one alone.
import tls from 'node:tls';
import type { SandboxIo } from '../agent/io.ts';
import type { EgressAuthority } from './egress.ts';

let text: string | undefined;
/** For systems without certificates of their own. Joined with the first sandbox that trusts an authority: most servers have none. */
function roots(): string {
  text ??= `${tls.rootCertificates.join('\n')}\n`;
  return text;
}

/** The first that programs of the sandbox can be made to trust; undefined: none. Rejects as the session does. */
export async function trustedAuthority(
  { gate }: Pick<SandboxIo, 'gate'>,
  authorities: readonly EgressAuthority[],
): Promise<EgressAuthority | undefined> {
  if (!gate?.trust) return undefined;
  for (const authority of authorities)
    if ((await gate.trust(authority.certificate, roots())).files) return authority;
  return undefined;
}
