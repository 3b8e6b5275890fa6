// Where programs of a sandbox find the certificate of the authority that ends their TLS (agent/PROTOCOL.md, `trust`).

export const TRUST_FOLDER = '/.svc-trust';
/** The authority alone. */
export const TRUST_ALONE = `${TRUST_FOLDER}/ca.pem`;
/** The authority and those of the system. */
export const TRUST_ALL = `${TRUST_FOLDER}/roots.pem`;

/** Files in which distributions keep the certificates of the system. */
export const SYSTEM_ROOTS = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
  '/etc/ssl/ca-bundle.pem',
] as const;

/** They replace what the program trusts otherwise. */
const ALL = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH',
];
/** They add to it. */
const ALONE = ['NODE_EXTRA_CA_CERTS', 'DENO_CERT'];

/** For programs that do not read the system's file. */
export function trustVariables(): Record<string, string> {
  const each = (names: readonly string[], path: string) =>
    names.map((name): [string, string] => [name, path]);
  return Object.fromEntries([...each(ALL, TRUST_ALL), ...each(ALONE, TRUST_ALONE)]);
}
