// Every key of the configuration as a flat list: the loader, `config explain`, the documents and redaction all work from
// it, so that a key is written down once, in schema/config.ts.
import type { ConfigKey, ConfigSection } from './config-walk.ts';
import found from './config-walked.ts';

export const SECRET_FILE_SUFFIX = '_file';

/** In schema order. */
export const CONFIG_KEYS: readonly ConfigKey[] = found.keys;
/** In schema order; a section stands before its keys. */
export const CONFIG_SECTIONS: readonly ConfigSection[] = found.sections;
/** Paths whose values are masked wherever configuration is shown. */
export const SECRET_PATHS: readonly string[] = CONFIG_KEYS.filter(isSecretText).map(({ path }) => path);
/** Paths of maps whose values are secrets, masked too; a value may be `{file: PATH}`. */
export const SECRET_MAPS: readonly string[] = CONFIG_KEYS.filter(
  ({ secret, kind }) => secret && kind === 'map',
).map(({ path }) => path);

/** Whether this is an entry of such a map. */
export const inSecretMap = (path: string): boolean => SECRET_MAPS.some((map) => path.startsWith(`${map}.`));

/** Paths of maps of objects. */
export const OBJECT_MAPS: readonly string[] = CONFIG_KEYS.filter(({ objects }) => objects).map(
  ({ path }) => path,
);

/** Has a `_file` twin; a map of secrets has none. */
export function isSecretText({ secret, kind }: Pick<ConfigKey, 'secret' | 'kind'>): boolean {
  return secret && kind !== 'map';
}

/** Sections and keys that a running server applies on a reload of its configuration. */
export const RELOADABLE: readonly string[] = [
  'logging.level',
  'auth.api_key',
  'auth.api_key_previous',
  'auth.admin_api_key',
  'auth.admin_api_key_previous',
  'auth.worker_token',
  'auth.worker_tokens',
  'auth.worker_signing_key',
  'auth.worker_signing_key_previous',
  'auth.worker_revoked_tokens',
  'egress.credentials',
  'egress.credential_terms',
  'server.cors_allowed_origins',
  'rate_limit',
  'audit.execs',
  'defaults.max_sandboxes',
  'defaults.max_sandboxes_per_owner',
  'defaults.max_ttl',
  'defaults.default_exec_timeout',
  'defaults.max_exec_timeout',
  'defaults.max_exec_output',
];

export function isReloadable(path: string): boolean {
  return RELOADABLE.some((name) => path === name || path.startsWith(`${name}.`));
}
