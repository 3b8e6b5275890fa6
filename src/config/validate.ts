// Checks an assembled configuration against its schema, without coercion, and words what is wrong for operators.
import { Ajv, type ErrorObject } from 'ajv';
import { parseDuration } from '../domain/duration.ts';
import { Config } from '../schema/config.ts';
import { CONFIG_KEYS } from '../schema/config-keys.ts';
import type { ConfigKey } from '../schema/config-walk.ts';

export interface Mismatch {
  path: string;
  words: string;
}

const check = compile();

/** One mismatch for each key whose value does not fit; empty means that `config` is a `Config`. */
export function mismatches(config: object): Mismatch[] {
  if (check(config)) return [];
  const found = (check.errors ?? []).flatMap((error) => mismatchOf(error) ?? []);
  return [...new Map(found.map((mismatch) => [mismatch.path, mismatch])).values()];
}

function compile() {
  const ajv = new Ajv({ allErrors: true, strict: true });
  ajv.addKeyword({
    keyword: 'duration',
    type: 'string',
    validate: (_: unknown, text: string) => isDuration(text),
  });
  for (const note of ['secret', 'defaultText']) ajv.addKeyword(note);
  return ajv.compile<Config>(Config);
}

function isDuration(text: string): boolean {
  try {
    parseDuration(text, '');
    return true;
  } catch {
    return false;
  }
}

function mismatchOf({ instancePath, keyword, params }: ErrorObject): Mismatch | undefined {
  const parts = instancePath.slice(1).split('/');
  const key = keyAbove(parts);
  if (!key) return undefined;
  const index = parts[key.path.split('.').length];
  if (keyword === 'additionalProperties')
    return { path: key.path, words: `${key.path} has a name of the wrong form` };
  if (index === undefined || key.kind === 'map')
    return { path: key.path, words: `${key.path} must be ${key.takes}` };
  const form = keyword === 'pattern' ? `match ${params.pattern}` : 'be text that is not empty';
  return { path: key.path, words: `entry ${Number(index) + 1} of ${key.path} must ${form}` };
}

function keyAbove(parts: readonly string[]): ConfigKey | undefined {
  const path = parts.join('.');
  return CONFIG_KEYS.find((key) => path === key.path || path.startsWith(`${key.path}.`));
}
