// The values that a running server applies from a reloaded configuration
// (docs/production.md#6-change-settings-at-runtime).
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS, isReloadable } from '../schema/config-keys.ts';
import { valueAt } from './flag-layer.ts';
import { brokenRules } from './rules.ts';
import { configFailure } from './setting.ts';

export interface TakenOver {
  /** Paths of keys that changed and hold from now on. */
  applied: string[];
  /** Paths of keys that changed and hold after a restart. */
  waiting: string[];
}

/**
 * Changes `config` in place, its sections staying the objects they are. Throws `bad_request` with nothing changed when
 * what would result breaks a rule between keys.
 */
export function takeOver(config: Config, next: Config): TakenOver {
  const changed = CONFIG_KEYS.map(({ path }) => path).filter((path) => differs(config, next, path));
  const applied = changed.filter(isReloadable);
  const trial = structuredClone(config);
  copy(applied, next, trial);
  const broken = brokenRules(trial);
  if (broken.length > 0) throw configFailure(broken.map(({ key, words }) => ({ message: `${words}.`, key })));
  copy(applied, next, config);
  return { applied, waiting: changed.filter((path) => !isReloadable(path)) };
}

function differs(a: Config, b: Config, path: string): boolean {
  return JSON.stringify(valueAt(a, path)) !== JSON.stringify(valueAt(b, path));
}

function copy(paths: readonly string[], from: Config, to: Config): void {
  for (const path of paths) {
    const at = path.lastIndexOf('.');
    const section = valueAt(to, path.slice(0, at)) as Record<string, unknown>;
    section[path.slice(at + 1)] = valueAt(from, path);
  }
}
