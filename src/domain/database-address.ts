// The URL of a PostgreSQL database: `postgres://user:password@host1:5432,host2:5432/name?sslmode=verify-full`. Any of the
// hosts may be the primary. No error quotes the URL, because it contains the password.
import { ServiceError } from './errors.ts';

export interface DatabaseHost {
  host: string;
  port: number;
}

/** `require` encrypts without checking who answers; `verify-full` also checks certificate and host name. */
const TLS_MODES = ['disable', 'require', 'verify-full'] as const;
export type TlsMode = (typeof TLS_MODES)[number];

export interface DatabaseAddress {
  hosts: readonly [DatabaseHost, ...DatabaseHost[]];
  user: string;
  /** A function, so that no log line and no serialized object contains it. */
  password: () => string;
  database: string;
  tls: TlsMode;
  /** The path of the PEM file with trusted authorities; absent: those of Node. */
  authorityFile?: string;
}

const FORM =
  /^postgres(?:ql)?:\/\/(?<who>[^@/?#]*)@(?<hosts>[^@/?#]+)\/(?<database>[^/?#]+)(?:\?(?<options>[^#]*))?$/;
const HOST = /^(?:\[(?<ipv6>[0-9a-f:.]+)\]|(?<name>[A-Za-z0-9_.-]+))(?::(?<port>\d{1,5}))?$/i;
const MOST_HOSTS = 16;

/** Throws `bad_request` for a URL that this program does not support in every part. */
export function parseAddress(url: string): DatabaseAddress {
  const { who, hosts, database, options = '' } = FORM.exec(url)?.groups ?? {};
  if (who === undefined || hosts === undefined || database === undefined)
    throw refused('The database URL is malformed.', 'Write it as postgres://user:password@host:5432/name.');
  const colon = who.indexOf(':');
  const password = decoded(colon < 0 ? '' : who.slice(colon + 1));
  const user = decoded(colon < 0 ? who : who.slice(0, colon));
  if (user === '') throw refused('The database URL has no user.', 'Write it as postgres://user:password@….');
  const name = decoded(database);
  if ([user, password, name].some((text) => text.includes('\0')))
    throw refused(
      'The database URL contains a NUL character.',
      'Remove %00, which PostgreSQL does not store.',
    );
  return {
    hosts: hostsOf(hosts),
    user,
    password: () => password,
    database: name,
    ...tlsOf(new URLSearchParams(options)),
  };
}

function hostsOf(list: string): DatabaseAddress['hosts'] {
  const hosts = list.split(',').map((text): DatabaseHost => {
    const { ipv6, name, port = '5432' } = HOST.exec(text)?.groups ?? {};
    const host = ipv6 ?? name;
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
      throw refused(
        'A host of the database URL is malformed.',
        'Write hosts as host:port, separated by commas.',
      );
    return { host, port: Number(port) };
  });
  if (hosts.length > MOST_HOSTS)
    throw refused(
      `The database URL has more than ${MOST_HOSTS} hosts.`,
      'List the hosts that can be primary.',
    );
  return hosts as [DatabaseHost, ...DatabaseHost[]];
}

function tlsOf(options: URLSearchParams): Pick<DatabaseAddress, 'tls' | 'authorityFile'> {
  const unknown = [...options.keys()].find((name) => name !== 'sslmode' && name !== 'sslrootcert');
  if (unknown !== undefined)
    throw refused(
      'The database URL has an unsupported option.',
      'Only sslmode and sslrootcert are supported. Set anything else on the server, for example with ALTER ROLE.',
    );
  const tls = TLS_MODES.find((mode) => mode === (options.get('sslmode') ?? 'verify-full'));
  if (tls === undefined)
    throw refused('The database URL has an unsupported sslmode.', `Use one of ${TLS_MODES.join(', ')}.`);
  const authorityFile = options.get('sslrootcert');
  return { tls, ...(authorityFile !== null && { authorityFile }) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused('The database URL has a malformed percent-encoding.', 'Encode % as %25.');
  }
}

/** The hosts and the name of the database, without user and password, such as `db1:5432,db2:5432/svc`. */
export function displayAddress({ hosts, database }: Pick<DatabaseAddress, 'hosts' | 'database'>): string {
  return `${hosts.map(displayHost).join(',')}/${database}`;
}

/** `displayAddress` of a URL. Throws as `parseAddress` does. */
export const displayUrl = (url: string): string => displayAddress(parseAddress(url));

/** The path of a database file, or the hosts and the name of a PostgreSQL database. Throws as `parseAddress` does. */
export const databaseName = ({ path, url }: { path: string; url?: string | undefined }): string =>
  url === undefined ? path : displayUrl(url);

export const displayHost = ({ host, port }: DatabaseHost): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** The password of a URL, as it is and as it is written there; none of a URL without one. Never throws. */
export function passwordsIn(url: string): string[] {
  const written = /^[a-z]+:\/\/[^@/?#:]*:(?<password>.*)@/i.exec(url)?.groups?.password ?? '';
  return [...new Set([written, plain(written)])].filter(Boolean);
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const refused = (message: string, remedy: string) => new ServiceError('bad_request', message, { remedy });
