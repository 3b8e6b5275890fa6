// Defaults, then one file, then SVC_ variables, then flags, to one configuration that knows where each value came from.
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS, SECRET_PATHS } from '../schema/config-keys.ts';
import { type FoundFile, findConfigFile } from './config-file.ts';
import { environmentLayer } from './environment-layer.ts';
import { flagLayer, type Partially, valueAt } from './flag-layer.ts';
import { type HostFacts, hostDefaults } from './host-defaults.ts';
import { RULES } from './rules.ts';
import { readSecretFiles } from './secret-files.ts';
import { configFailure, type Layer, type Problem, problemAt, type Setting, type Source } from './setting.ts';
import { mismatches } from './validate.ts';
import { yamlLayer } from './yaml-layer.ts';

export interface LoadRequest extends HostFacts {
  flags?: Partially<Config>;
  env: Record<string, string | undefined>;
  cwd: string;
  /** What `--config` says; goes before SVC_CONFIG. */
  file?: string | undefined;
}

export interface LoadedConfig {
  config: Config;
  /** By key path, every key; a secret read from a file has the source of its `_file` twin. */
  sources: ReadonlyMap<string, Source>;
  /** The file that was used, as it was named. */
  file?: string;
  /** Secret values, for redaction. */
  secrets: string[];
}

/**
 * Reads and checks the configuration. Throws one `bad_request` whose `details.problems` lists everything that is wrong,
 * each with its file, line and column or its variable. No value is quoted in it.
 */
export function loadConfig(request: LoadRequest): LoadedConfig {
  const { file, layer } = fileLayer(request);
  const layers = [layer, environmentLayer(request.env), flagLayer(request.flags ?? {})];
  const settings = new Map(
    layers.flatMap(({ settings }) => settings.map((setting) => [setting.path, setting])),
  );
  const problems = layers.flatMap((each) => each.problems);
  problems.push(...readSecretFiles(settings, { cwd: request.cwd, file }));
  const { config, sources } = assemble(settings, hostDefaults(request));
  // Whoever shares a VM with others sees only what is theirs.
  if (config.pool.enabled === true) config.auth.enforce_owner = true;
  problems.push(...check(config, sources));
  if (problems.length > 0) throw configFailure(problems);
  return { config, sources, secrets: secretsOf(config), ...(file && { file: file.name }) };
}

function fileLayer({ file, env, cwd, home }: LoadRequest): { file: FoundFile | undefined; layer: Layer } {
  const outcome = findConfigFile(file ?? (env.SVC_CONFIG || undefined), { cwd, home });
  if ('fault' in outcome) {
    const message = problemAt({ layer: 'file', name: outcome.name }, `the file ${outcome.fault}`);
    return { file: undefined, layer: { settings: [], problems: [message] } };
  }
  const { found } = outcome;
  return { file: found, layer: found ? yamlLayer(found.text, found.name) : { settings: [], problems: [] } };
}

function assemble(settings: ReadonlyMap<string, Setting>, host: Record<string, unknown>) {
  const config = {};
  const sources = new Map<string, Source>();
  for (const key of CONFIG_KEYS) {
    const setting = settings.get(key.path);
    const value = setting ? setting.value : (structuredClone(key.default) ?? host[key.path]);
    sources.set(key.path, setting?.source ?? { layer: 'default' });
    place(config, key.path, value);
  }
  return { config: config as Config, sources };
}

/** Sections come to be even when all they would hold is absent. */
function place(root: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? path;
  let section = root;
  for (const name of names) {
    section[name] ??= {};
    section = section[name] as Record<string, unknown>;
  }
  if (value !== undefined) section[last] = value;
}

/** Rules between keys say nothing sensible about values that do not fit, so they come second. */
function check(config: Config, sources: ReadonlyMap<string, Source>): Problem[] {
  const at = (key: string, words: string) => problemAt(sources.get(key) ?? { layer: 'default' }, words, key);
  const misfits = mismatches(config);
  if (misfits.length > 0) return misfits.map(({ path, words }) => at(path, words));
  return RULES.filter(({ broken }) => broken(config)).map(({ key, words }) => at(key, words));
}

function secretsOf(config: Config): string[] {
  return SECRET_PATHS.map((path) => valueAt(config, path)).filter(
    (value): value is string => typeof value === 'string',
  );
}
