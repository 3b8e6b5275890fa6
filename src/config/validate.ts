// Checks an assembled configuration against its schema, without coercion, and words what is wrong for operators.
import type { ErrorObject } from 'ajv';
import { parseDuration } from '../domain/duration.ts';
import { CONFIG_KEYS } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';
import check from './config-check.ts';
import { valueAt } from './flag-layer.ts';

export interface Mismatch {
  path: string;
  words: string;
}

/** In schema order, one mismatch for each key whose value does not fit; empty means that `config` is a `Config`. */
export function mismatches(config: object): Mismatch[] {
  const errors = check(config) ? [] : (check.errors ?? []);
  const found = [...errors.flatMap((error) => mismatchOf(error, config) ?? []), ...badDurations(config)];
  const byPath = new Map(found.map((mismatch) => [mismatch.path, mismatch]));
  return CONFIG_KEYS.flatMap(({ path }) => byPath.get(path) ?? []);
}

/** Texts that are not durations; a value that is not a text does not fit its schema either. */
function badDurations(config: object): Mismatch[] {
  return CONFIG_KEYS.filter(({ kind }) => kind === 'duration').flatMap(({ path, takes }) => {
    const value = valueAt(config, path);
    return typeof value === 'string' && !isDuration(value)
      ? [{ path, words: `${path} must be ${takes}` }]
      : [];
  });
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text, '');
    return true;
  } catch {
    return false;
  }
}

function urlWords(value: unknown): string {
  if (typeof value === 'string' && /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]*@/i.test(value))
    return 'not carry a user name or password: addresses are shown and logged; give the key as api_key or api_key_file';
  return 'be an address like https://host.example/path, without query and fragment';
}

function mismatchOf({ instancePath, keyword, params }: ErrorObject, config: object): Mismatch | undefined {
  const parts = instancePath.slice(1).split('/');
  const key = keyAbove(parts);
  if (!key) return undefined;
  const index = parts[key.path.split('.').length];
  if (key.objects && index !== undefined) {
    const place = parts.slice(key.path.split('.').length + 1).join('.');
    const field = place === '' ? '' : `, at ${place}`;
    return {
      path: key.path,
      words: `entry ${index} of ${key.path} is not of the form that the API takes${field}`,
    };
  }
  if (keyword === 'additionalProperties')
    return { path: key.path, words: `${key.path} has a name of the wrong form` };
  if (keyword === 'pattern' && key.path.endsWith('_url'))
    return { path: key.path, words: `${key.path} must ${urlWords(valueAt(config, key.path))}` };
  if (index === undefined || key.kind === 'map')
    return { path: key.path, words: `${key.path} must be ${key.takes}` };
  const form = keyword === 'pattern' ? `match ${params.pattern}` : 'be text that is not empty';
  return { path: key.path, words: `entry ${Number(index) + 1} of ${key.path} must ${form}` };
}

function keyAbove(parts: readonly string[]): ConfigKey | undefined {
  const path = parts.join('.');
  return CONFIG_KEYS.find((key) => path === key.path || path.startsWith(`${key.path}.`));
}
