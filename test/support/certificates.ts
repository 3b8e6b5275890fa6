// Certificates for an afternoon, made by openssl: an authority, what it signed, and a stranger's authority.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

export interface Pair {
  cert: string;
  key: string;
}

export interface Certificates {
  /** The authority of `server` and `client`. */
  ca: string;
  /** For the names that were asked for. */
  server: Pair;
  client: Pair;
  /** Another one of the same authority, for any use; by its common name. */
  sign(name: string): Pair;
  /** Trusted by nobody; its `cert` is an authority's. */
  stranger: Pair;
}

/** Paths of PEM files in `folder`. `names` as openssl writes them. */
export function certificates(folder: string, names = ['IP:127.0.0.1']): Certificates {
  const authority = (name: string) => made(folder, name, []);
  const ca = authority('ca');
  const signed = (name: string, ...extensions: string[]) =>
    made(folder, name, [
      ...['-CA', ca.cert, '-CAkey', ca.key],
      ...extensions.flatMap((each) => ['-addext', each]),
      ...['-addext', 'basicConstraints=critical,CA:FALSE'],
    ]);
  return {
    ca: ca.cert,
    server: signed('server', `subjectAltName=${names.join(',')}`, 'extendedKeyUsage=serverAuth'),
    client: signed('client', 'extendedKeyUsage=clientAuth'),
    sign: (name) => signed(name),
    stranger: authority('stranger'),
  };
}

function made(folder: string, name: string, more: readonly string[]): Pair {
  const pair = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc', '-keyout', pair.key];
  const args = ['req', '-x509', '-days', '2', '-subj', `/CN=${name}`, ...key, '-out', pair.cert, ...more];
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  return pair;
}
