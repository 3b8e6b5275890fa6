// Applies the reloadable values of a configuration that was read again (docs/production.md#6-change-settings-at-runtime).
import type { LiveConfig } from '../domain/live-config.ts';
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS, isReloadable } from '../schema/config-keys.ts';
import { valueAt } from './flag-layer.ts';
import { brokenRules } from './rules.ts';
import { configFailure } from './setting.ts';

/** Paths of changed keys. */
export interface Reloaded {
  /** In effect from now on. */
  applied: string[];
  /** In effect after a restart. */
  waiting: string[];
}

export interface ReloadableConfig extends LiveConfig {
  /**
   * Applies what may change while serving and calls the listeners if anything did. Throws `bad_request` and changes
   * nothing when the result would break a rule between keys.
   */
  reload(next: Config): Reloaded;
}

/** Freezes `config`. */
export function liveConfig(config: Config): ReloadableConfig {
  const listeners: ((current: Config, previous: Config) => void)[] = [];
  let current = frozen(config);
  return {
    current: () => current,
    onChange: (listener) => void listeners.push(listener),
    reload(next) {
      const previous = current;
      const changed = CONFIG_KEYS.map(({ path }) => path).filter((path) => differs(previous, next, path));
      const applied = changed.filter(isReloadable);
      const replaced = frozen(replacing(previous, applied, next));
      const broken = brokenRules(replaced);
      if (broken.length > 0)
        throw configFailure(broken.map(({ key, words }) => ({ message: `${words}.`, key })));
      if (applied.length > 0) {
        current = replaced;
        for (const listener of listeners) listener(current, previous);
      }
      return { applied, waiting: changed.filter((path) => !isReloadable(path)) };
    },
  };
}

function differs(a: Config, b: Config, path: string): boolean {
  return JSON.stringify(valueAt(a, path)) !== JSON.stringify(valueAt(b, path));
}

/** `config` with the values of `next` at `paths`, in new sections. A reloadable key is always `section.key`. */
function replacing(config: Config, paths: readonly string[], next: Config): Config {
  const sections: Record<string, object> = { ...config };
  for (const path of paths) {
    const [section = '', key = ''] = path.split('.');
    sections[section] = { ...sections[section], [key]: valueAt(next, path) };
  }
  return sections as unknown as Config;
}

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(value);
}
