// The configuration of a server whose database is PostgreSQL: it may be one of several, so its sandboxes run on workers.

import { LOCAL_KINDS } from '../domain/local-kinds.ts';
import type { Config } from '../schema/config.ts';
import type { LoadedConfig } from './load.ts';
import { configFailure, type Problem, problemAt } from './setting.ts';

const REMEDY = 'remove it here, and run svc worker on this host';

/**
 * The configuration without local kinds if it has `database.url`, otherwise `loaded` itself. Throws `bad_request` if
 * somebody switched on one of them, or the pool.
 */
export function replicaConfig(loaded: LoadedConfig): LoadedConfig {
  const { config } = loaded;
  if (config.database.url === undefined) return loaded;
  const problems = refusedKeys(loaded);
  if (problems.length > 0) throw configFailure(problems);
  return { ...loaded, config: { ...config, providers: withoutLocalKinds(config.providers) } };
}

/** The keys that a server with `database.url` refuses. */
export function refusedKeys({ config, sources }: Pick<LoadedConfig, 'config' | 'sources'>): Problem[] {
  const isSet = (path: string) => (sources.get(path)?.layer ?? 'default') !== 'default';
  const at = (key: string, words: string) =>
    problemAt(sources.get(key) ?? { layer: 'default' }, `${key} ${words}; ${REMEDY}`, key);
  const kinds = LOCAL_KINDS.filter((kind) => config.providers[kind].enabled)
    .map((kind) => `providers.${kind}.enabled`)
    .filter(isSet)
    .map((key) =>
      at(key, 'cannot be true with database.url, because such a server runs no sandboxes itself'),
    );
  const pool = config.pool.enabled
    ? [at('pool.enabled', 'cannot be true with database.url, because the VMs of a pool are on one server')]
    : [];
  return [...kinds, ...pool];
}

function withoutLocalKinds(providers: Config['providers']): Config['providers'] {
  const off = LOCAL_KINDS.map((kind) => [kind, { ...providers[kind], enabled: false }] as const);
  return { ...providers, ...Object.fromEntries(off) };
}
