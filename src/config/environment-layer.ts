// The environment layer: SVC_ variables to settings. A variable that no key has is an error with the nearest name,
// since a mistyped SVC_AUTH_ENABLED must not leave a server open.
import { printable } from '../domain/printable.ts';
import { CONFIG_KEYS, isSecretText, SECRET_FILE_SUFFIX, SECRET_MAPS } from '../schema/config-keys.ts';
import { type ConfigKey, ENV_PREFIX, envName } from '../schema/config-walk.ts';
import { nearest } from './nearest.ts';
import { type Layer, quoted, type Source } from './setting.ts';

/** Variables of the command line and of tests: never keys. */
export const RESERVED_VARIABLES = [
  'SVC_CONFIG',
  'SVC_SERVER',
  'SVC_API_KEY',
  'SVC_API_KEY_FILE',
  'SVC_USER',
  'SVC_RETRY',
];
const RESERVED_PREFIX = 'SVC_TEST_';

const BY_NAME = new Map<string, Pick<ConfigKey, 'path' | 'kind'>>([
  ...CONFIG_KEYS.map((key) => [key.env, key] as const),
  ...CONFIG_KEYS.filter(isSecretText).map(({ env, path }) => {
    const twin = { path: path + SECRET_FILE_SUFFIX, kind: 'text' as const };
    return [env + SECRET_FILE_SUFFIX.toUpperCase(), twin] as const;
  }),
]);

/** Settings of `env`, its names in order. Never throws. */
export function environmentLayer(env: Record<string, string | undefined>): Layer {
  const layer: Layer = { settings: [], problems: [] };
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (text === undefined || !name.startsWith(ENV_PREFIX) || isReserved(name)) continue;
    const source: Source = { layer: 'environment', name };
    const key = BY_NAME.get(name) ?? entryOf(name);
    if (key) layer.settings.push({ path: key.path, value: fromText(text, key.kind), source });
    else layer.problems.push({ message: unknownVariable(name) });
  }
  return layer;
}

/** `SVC_AUTH_WORKER_TOKENS_EDGE_1` is the entry `edge-1` of `auth.worker_tokens`. */
function entryOf(name: string): Pick<ConfigKey, 'path' | 'kind'> | undefined {
  const path = SECRET_MAPS.find((each) => name.startsWith(`${envName(each)}_`));
  if (path === undefined) return undefined;
  const entry = name
    .slice(envName(path).length + 1)
    .toLowerCase()
    .replaceAll('_', '-');
  return entry === '' ? undefined : { path: `${path}.${entry}`, kind: 'text' };
}

function isReserved(name: string): boolean {
  return RESERVED_VARIABLES.includes(name) || name.startsWith(RESERVED_PREFIX);
}

function unknownVariable(name: string): string {
  const guess = nearest(name, [...BY_NAME.keys(), ...RESERVED_VARIABLES]);
  return `${printable(quoted(name))} is not a variable of svc${guess === undefined ? '' : `; did you mean ${guess}?`}`;
}

const FLAGS = new Map([
  ['true', true],
  ['false', false],
]);

/** Text that does not fit is left as it is, and fails the type of its key. */
function fromText(text: string, kind: ConfigKey['kind']): unknown {
  if (kind === 'number') return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (kind === 'flag') return FLAGS.get(text) ?? text;
  if (kind === 'list') return text.trim() === '' ? [] : text.split(',').map((item) => item.trim());
  return kind === 'map' ? fromJson(text) : text;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
