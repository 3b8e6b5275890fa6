// How programs of this machine find and trust `e2b.listen`, by the configuration that its server has.
import { loadProcessConfig } from '../config/process-config.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseListen } from '../domain/listen-address.ts';
import type { TlsHere } from '../domain/tls-here.ts';
import { realClock } from '../host/clock.ts';
import { realRandom } from '../host/random.ts';
import { ownAuthority, usesOwnAuthority } from './e2b-authority.ts';

const HTTPS_PORT = 443;

/** `file` is what `--config` says. Throws `bad_request` without `e2b.listen`, `unavailable` for files that cannot be used. */
export function tlsHere(file: string | undefined): TlsHere {
  const { config } = loadProcessConfig({ file });
  if (config.e2b.listen === '')
    throw new ServiceError('bad_request', 'The configuration has no listener with TLS for E2B.', {
      remedy: 'Set e2b.listen, for example to 127.0.0.1:7443, and restart the server.',
    });
  const { port } = parseListen(config.e2b.listen);
  const { preview_domain } = config.server;
  const domain = port === HTTPS_PORT ? preview_domain : `${preview_domain}:${port}`;
  if (!usesOwnAuthority(config)) return { domain, port };
  const { caFile, bundleFile } = ownAuthority(config, { clock: realClock(), random: realRandom() });
  return { domain, port, trust: { caFile, bundleFile } };
}
