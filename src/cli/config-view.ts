// The configuration as `svc config` shows it: values with their sources, secrets masked.
import { valueAt } from '../config/flag-layer.ts';
import type { LoadedConfig } from '../config/load.ts';
import { nearestPath } from '../config/nearest.ts';
import { sourceText } from '../config/setting.ts';
import { ServiceError } from '../domain/errors.ts';
import { MASK } from '../redact/rules.ts';
import { CONFIG_KEYS, isSecretText } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import { line } from './print.ts';
import { facts, table } from './render.ts';

export interface ShownSetting {
  key: string;
  /** Absent when unset; `[redacted]` for a secret that is set. */
  value?: unknown;
  /** `default`, `flag`, a variable, or file, line and column. */
  source: string;
}

export interface ShownConfig {
  /** The file with the highest precedence. */
  file?: string;
  /** All files that were read, highest precedence first. */
  files: string[];
  settings: ShownSetting[];
}

/** All keys with their effective values. */
export function shownConfig(loaded: LoadedConfig): ShownConfig {
  const settings = CONFIG_KEYS.map((key) => shownSetting(key, loaded));
  const files = loaded.files.map(({ name }) => name);
  return { ...(files[0] !== undefined && { file: files[0] }), files, settings };
}

function shownSetting(key: ConfigKey, { config, sources }: LoadedConfig): ShownSetting {
  const value = valueAt(config, key.path);
  const source = sourceText(sources.get(key.path) ?? { layer: 'default' });
  return { key: key.path, ...(value !== undefined && { value: key.secret ? MASK : value }), source };
}

/** `shownConfig` as a table under the name of the file. */
export function configTable({ files, settings }: ShownConfig): string {
  const rows = table(settings, [
    { title: 'key', value: ({ key }) => key },
    { title: 'value', value: ({ value }) => valueText(value) },
    { title: 'source', value: ({ source }) => source },
  ]);
  const names = files.length > 0 ? files.join(', then ') : 'none';
  return `${line`File: ${names}`}\n\n${rows}`;
}

/** Text as it is, other values as JSON, so that `unset` differs from `""`. */
function valueText(value: unknown): string {
  if (value === undefined) return 'unset';
  if (Array.isArray(value)) return `[${value.map((entry) => JSON.stringify(entry)).join(', ')}]`;
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
}

export interface ExplainedKey extends Partial<Omit<ShownSetting, 'key'>> {
  key: string;
  description: string;
  /** The accepted values, in words. */
  takes: string;
  default?: unknown;
  env: string;
  /** The key that names a file with the secret; secrets only. */
  file_key?: string;
  /** Why the current value is unknown. */
  unknown?: string;
}

/**
 * Explains one key, by its path or variable. `load` reads the current value; an invalid configuration only leaves the value
 * out, because this command helps to correct it. Throws `not_found` with the nearest key.
 */
export function explainKey(name: string, load: () => LoadedConfig): ExplainedKey {
  const key = CONFIG_KEYS.find(({ path, env }) => path === name || env === name);
  if (!key) throw unknownKey(name);
  return {
    key: key.path,
    description: key.description,
    takes: key.takes,
    ...defaultOf(key),
    env: key.env,
    ...(isSecretText(key) && { file_key: `${key.path}_file` }),
    ...present(key, load),
  };
}

function defaultOf(key: ConfigKey): { default?: unknown } {
  const value = key.default ?? key.defaultText;
  return value === undefined ? {} : { default: value };
}

function present(key: ConfigKey, load: () => LoadedConfig): Partial<ExplainedKey> {
  try {
    const { value, source } = shownSetting(key, load());
    return { ...(value !== undefined && { value }), source };
  } catch (error) {
    if (error instanceof ServiceError) return { unknown: `${error.message} See svc config show.` };
    throw error;
  }
}

function unknownKey(name: string): ServiceError {
  const guess = nearestPath(
    name,
    CONFIG_KEYS.map(({ path }) => path),
  );
  const remedy = guess === undefined ? 'Run `svc config show` for all keys.' : `Did you mean ${guess}?`;
  return new ServiceError('not_found', 'Unknown configuration key.', {
    remedy,
    details: { key: name.slice(0, 128) },
  });
}

/** `explainKey` as a block of facts. */
export function explainedText(key: ExplainedKey): string {
  return facts([
    ['key', key.key],
    ['meaning', key.description],
    ['accepts', key.takes],
    ['default', key.default === undefined ? 'none' : valueText(key.default)],
    ['variable', key.env],
    ['file key', key.file_key],
    ['value', key.unknown ?? valueText(key.value)],
    ['source', key.source],
  ]);
}
