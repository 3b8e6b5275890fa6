// A whole configuration from the few keys that a test is about.
import { Value } from 'typebox/value';
import type { LiveConfig } from '../../src/domain/live-config.ts';
import { Config } from '../../src/schema/config.ts';

export type Partially<T> = { [K in keyof T]?: T[K] extends object ? Partial<T[K]> : T[K] };

/** Defaults, with what a host decides set to what nothing is at. */
export function testConfig(given: Partially<Config> = {}): Config {
  const host = {
    ...{
      server: {},
      auth: {},
      rate_limit: {},
      usage: {},
      prewarm: {},
      audit: {},
      defaults: {},
      database: { path: '/nowhere' },
      logging: { format: 'json' },
      pool: {},
      images: { path: '/nowhere' },
      egress: { default_policy: {} },
      e2b: {},
      mcp: {},
      console: {},
      secrets: {},
      worker: { tls: {} },
    },
    providers: {
      ...{ container: { tls: {} }, userspace: { workspace_base: '/nowhere' } },
      ...{ microvm: {}, hosted: {}, custom: {} },
    },
  };
  const config = Value.Default(Config, host) as Config;
  for (const [section, keys] of Object.entries(given)) Object.assign(config[section as keyof Config], keys);
  return config;
}

/** A configuration that nobody reloads. */
export function fixedConfig<T>(config: T): LiveConfig<T> {
  return { current: () => config, onChange: () => {} };
}
