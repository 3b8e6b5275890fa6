// Rules between keys: what no key's own schema can say. They run on a configuration whose keys all fit.
import { isIP } from 'node:net';
import { isAddressRange } from '../domain/address.ts';
import { parseAddress } from '../domain/database-address.ts';
import { parseDuration } from '../domain/duration.ts';
import { checkCredential, isHeaderText } from '../domain/egress/credential.ts';
import { checkPolicy, privateNames, ruleOptions, serverLayer } from '../domain/egress/layers.ts';
import { parseRules } from '../domain/egress/rule.ts';
import { ServiceError } from '../domain/errors.ts';
import { parseListen } from '../domain/listen-address.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import { isNameServer } from '../domain/outgoing-address.ts';
import type { Config } from '../schema/config.ts';
import type { EgressConfig } from '../schema/config-egress.ts';

export interface Rule {
  /** The key to change, which locates the finding. */
  key: string;
  /** `isSet` tells whether somebody gave a value for the key of a path. */
  broken(config: Config, isSet: (path: string) => boolean): boolean;
  words: string;
}

const SHORTEST_KEY = 32;
const longer = (a: string, b: string) => parseDuration(a, '') > parseDuration(b, '');

const isTooShort = (key: string | undefined) => key !== undefined && key.length < SHORTEST_KEY;

const RULES: readonly Rule[] = [
  {
    key: 'auth.enabled',
    broken: ({ auth }) => auth.enabled && auth.api_key === undefined,
    words: 'auth.enabled needs auth.api_key or auth.api_key_file',
  },
  {
    key: 'auth.api_key_previous',
    broken: ({ auth }) => auth.api_key_previous !== undefined && auth.api_key === undefined,
    words: 'auth.api_key_previous needs auth.api_key or auth.api_key_file',
  },
  {
    key: 'auth.admin_api_key_previous',
    broken: ({ auth }) => auth.admin_api_key_previous !== undefined && auth.admin_api_key === undefined,
    words: 'auth.admin_api_key_previous needs auth.admin_api_key or auth.admin_api_key_file',
  },
  {
    key: 'server.host',
    broken: ({ auth, server }) => !auth.enabled && !server.allow_insecure && !isLoopbackHost(server.host),
    words:
      'server.host is reachable from outside while auth.enabled is false; enable authentication, or set server.allow_insecure if nobody else can reach the server',
  },
  {
    key: 'server.trusted_proxies',
    broken: ({ server }) => !server.trusted_proxies.every(isAddressRange),
    words: 'server.trusted_proxies must hold addresses and CIDR blocks, such as 10.0.0.0/8 or fd00::1',
  },
  {
    key: 'secrets.key',
    broken: ({ secrets }) => isTooShort(secrets.key),
    words: 'secrets.key must have at least 32 characters',
  },
  {
    key: 'database.url',
    broken: ({ database }) => database.url !== undefined && !isDatabaseUrl(database.url),
    words:
      'database.url must be postgres://user:password@host:5432/name, with at most sslmode (disable, require or verify-full) and sslrootcert as options',
  },
  {
    key: 'database.path',
    broken: ({ database }, isSet) => database.url !== undefined && isSet('database.path'),
    words: 'database.path and database.url exclude each other; remove the one that is not used',
  },
  {
    key: 'server.preview_signing_key',
    broken: ({ server }) => isTooShort(server.preview_signing_key),
    words: `server.preview_signing_key needs at least ${SHORTEST_KEY} characters because anyone with a link can try keys`,
  },
  {
    key: 'auth.worker_signing_key',
    broken: ({ auth }) => isTooShort(auth.worker_signing_key),
    words: `auth.worker_signing_key needs at least ${SHORTEST_KEY} characters because anyone with a token can try keys`,
  },
  {
    key: 'worker.heartbeat_interval',
    broken: ({ worker }) => longer('1s', worker.heartbeat_interval),
    words: 'worker.heartbeat_interval must be at least 1s',
  },
  {
    key: 'defaults.default_exec_timeout',
    broken: ({ defaults }) => longer(defaults.default_exec_timeout, defaults.max_exec_timeout),
    words: 'defaults.default_exec_timeout must be at most defaults.max_exec_timeout',
  },
  {
    key: 'defaults.ttl',
    broken: ({ defaults }) => longer(defaults.max_ttl, '0s') && longer(defaults.ttl, defaults.max_ttl),
    words: 'defaults.ttl must be at most defaults.max_ttl',
  },
  {
    key: 'e2b.listen',
    broken: ({ e2b }) => e2b.listen !== '' && !(e2b.enabled && isListenAddress(e2b.listen)),
    words:
      'e2b.listen must be host:port, such as 127.0.0.1:7443, with a port that is not 0, and needs e2b.enabled',
  },
  {
    key: 'e2b.listen',
    broken: ({ e2b, auth }) =>
      !auth.enabled && isListenAddress(e2b.listen) && !isLoopbackHost(parseListen(e2b.listen).host),
    words: 'e2b.listen is reachable from outside while auth.enabled is false; enable authentication',
  },
  {
    key: 'e2b.cert_file',
    broken: ({ e2b }) => (e2b.cert_file === '') !== (e2b.key_file === ''),
    words: 'e2b.cert_file and e2b.key_file need each other',
  },
  {
    key: 'providers.userspace.network',
    broken: ({ providers: { userspace }, pool }) =>
      userspace.network === 'user' && (pool.enabled || userspace.runner === 'proot'),
    words: 'providers.userspace.network cannot be user with pool.enabled, or with the runner proot',
  },
  {
    key: 'providers.userspace.name_servers',
    broken: ({ providers }) => !providers.userspace.name_servers.every(isNameServer),
    words:
      'providers.userspace.name_servers must hold IPv4 addresses of other machines, neither loopback nor link-local',
  },
  {
    key: 'egress.allow_private',
    broken: ({ egress }) => !egress.allow_private.every(isAddressRange),
    words: 'egress.allow_private must hold addresses and CIDR blocks, such as 10.20.0.0/24 or fd00::/64',
  },
  {
    key: 'egress.private_names',
    broken: ({ egress }) => !reads(() => privateNames(egress)),
    words:
      'egress.private_names must hold names, *.name or groups of names, such as mirror.example.com or @packages',
  },
  {
    key: 'egress.credentials',
    broken: ({ egress: { credentials = {}, credential_terms } }) =>
      Object.keys(credentials).sort().join() !== Object.keys(credential_terms).sort().join(),
    words: 'egress.credentials and egress.credential_terms must have the same names',
  },
  {
    key: 'egress.credential_terms',
    broken: ({ egress }) => !reads(() => Object.values(egress.credential_terms).forEach(checkCredential)),
    words:
      'egress.credential_terms must have hosts as name, *.name or name:port, a header that can be set, and {value} once in format',
  },
  {
    key: 'egress.credentials',
    broken: ({ egress }) => Object.values(egress.credentials ?? {}).some((value) => !isHeaderText(value)),
    words: 'values of egress.credentials must be at most 16,384 printable ASCII characters in one line',
  },
  {
    key: 'egress.groups',
    broken: ({ egress }) => !reads(() => groupRules(egress)),
    words:
      'egress.groups must hold rules separated by commas: names, *.name, addresses or CIDR blocks, with :port where it is not 80 and 443',
  },
  {
    key: 'egress.allow',
    broken: ({ egress }) => !reads(() => serverLayer({ ...egress, deny: [] })),
    words:
      'egress.allow must hold rules: a name, *.name, an address, a CIDR block or @group, with or without :port',
  },
  {
    key: 'egress.deny',
    broken: ({ egress }) => !reads(() => serverLayer({ ...egress, allow: [] })),
    words:
      'egress.deny must hold rules: a name, *.name, an address, a CIDR block or @group, with or without :port',
  },
  {
    key: 'egress.default_policy.default',
    broken: ({ egress, pool }) =>
      egress.default_policy.default !== 'none' && (!egress.enabled || pool.enabled),
    words: 'egress.default_policy.default must be none while egress.enabled is false or pool.enabled is true',
  },
  {
    key: 'egress.default_policy.allow',
    broken: ({ egress }) => !reads(() => defaultPolicyRules(egress)),
    words:
      'egress.default_policy must hold rules: a name, *.name, an address, a CIDR block or @group, with or without :port',
  },
  {
    key: 'egress.resolver',
    broken: ({ egress }) => !egress.resolver.every((address) => isIP(address) !== 0),
    words: 'egress.resolver must hold addresses, such as 192.0.2.53',
  },
  {
    key: 'providers.userspace.runner_path',
    broken: ({ providers: { userspace } }) => userspace.runner === 'auto' && userspace.runner_path !== '',
    words: 'providers.userspace.runner_path requires providers.userspace.runner',
  },
  {
    key: 'providers.hosted.base_url',
    broken: ({ providers: { hosted } }) =>
      hosted.enabled && (hosted.base_url === '' || hosted.api_key === undefined),
    words: 'providers.hosted.enabled needs providers.hosted.base_url, and api_key or api_key_file',
  },
  {
    key: 'providers.custom.base_url',
    broken: ({ providers: { custom } }) => custom.enabled && custom.base_url === '',
    words: 'providers.custom.enabled needs providers.custom.base_url',
  },
];

const isDatabaseUrl = (url: string) => reads(() => parseAddress(url));

const defaultPolicyRules = (egress: EgressConfig) => {
  const { allow, deny } = egress.default_policy;
  checkPolicy({ allow, deny }, ruleOptions(egress));
};

/** A group names no other group. */
const groupRules = (egress: EgressConfig) =>
  Object.keys(egress.groups).map((name) =>
    parseRules([`@${name}`], 'allow', { ...ruleOptions(egress), wideAllowed: true }),
  );

const isListenAddress = (text: string) => reads(() => parseListen(text)) && parseListen(text).port > 0;

/** False where it throws a `ServiceError`. */
function reads(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** The rules that `config` breaks; its keys all fit their schemas. Without `isSet`, every key counts as left out. */
export function brokenRules(config: Config, isSet: (path: string) => boolean = () => false): Rule[] {
  return RULES.filter((rule) => rule.broken(config, isSet));
}
