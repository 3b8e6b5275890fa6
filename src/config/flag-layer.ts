// The flag layer: what a command's flags say about the configuration, as a partial configuration.
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS } from '../schema/config-keys.ts';
import type { Layer } from './setting.ts';

/** Any part of `T`; undefined means that the flag was not given. */
export type Partially<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Partially<T[K]> | undefined }
    : T;

/** Settings for the keys that `flags` holds. */
export function flagLayer(flags: Partially<Config>): Layer {
  const settings = CONFIG_KEYS.map(({ path }) => ({
    path,
    value: valueAt(flags, path),
    source: { layer: 'flag' as const },
  }));
  return { settings: settings.filter(({ value }) => value !== undefined), problems: [] };
}

/** What stands at a dotted path, or undefined. */
export function valueAt(root: object, path: string): unknown {
  let value: unknown = root;
  for (const name of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[name];
  return value;
}
