// Defaults, then one file, then SVC_ variables, then flags, to one configuration that knows where each value came from.
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS, SECRET_FILE_SUFFIX, SECRET_MAPS, SECRET_PATHS } from '../schema/config-keys.ts';
import { envName } from '../schema/config-walk.ts';
import { type FoundFile, findConfigFile } from './config-file.ts';
import { environmentLayer } from './environment-layer.ts';
import { flagLayer, type Partially, valueAt } from './flag-layer.ts';
import { type HostFacts, hostDefaults } from './host-defaults.ts';
import { brokenRules } from './rules.ts';
import { readSecretFiles } from './secret-files.ts';
import { readSecretMaps } from './secret-maps.ts';
import { configFailure, type Layer, type Problem, problemAt, type Setting, type Source } from './setting.ts';
import { mismatches } from './validate.ts';
import { yamlLayer } from './yaml-layer.ts';

export interface LoadRequest extends HostFacts {
  flags?: Partially<Config>;
  env: Record<string, string | undefined>;
  cwd: string;
  /** What `--config` says; goes before SVC_CONFIG. */
  file?: string | undefined;
  /** Secrets taken to be given elsewhere: each gets a stand-in value, and its `_file` twin is not read. */
  assumed?: readonly string[];
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

/** A configuration as far as it could be read, with what is wrong by kind. */
export interface ConfigReading extends LoadedConfig {
  /** Files, syntax, names, and values that do not fit. While there are any, `config` may be no `Config`. */
  unusable: Problem[];
  /** Secret files that cannot be used, by the key of the twin; their keys are unset. */
  secretFiles: Problem[];
  /** Broken rules between keys that all fit. */
  contradictions: Problem[];
  /** Key paths that the file itself sets, twins included; of a map of secrets, also the entries that are no `{file: PATH}`. */
  written: ReadonlySet<string>;
}

/**
 * Reads and checks the configuration. Throws one `bad_request` whose `details.problems` lists everything that is wrong,
 * each with its file, line and column or its variable. No value is quoted in it.
 */
export function loadConfig(request: LoadRequest): LoadedConfig {
  const { unusable, secretFiles, contradictions, written: _, ...loaded } = readConfig(request);
  const problems = [...unusable, ...secretFiles, ...contradictions];
  if (problems.length > 0) throw configFailure(problems);
  return loaded;
}

/** What `loadConfig` does, for who judges the configuration instead of using it. Never throws. */
export function readConfig(request: LoadRequest): ConfigReading {
  const { file, layer } = fileLayer(request);
  const layers = [layer, environmentLayer(request.env), flagLayer(request.flags ?? {})];
  const settings = new Map(
    layers.flatMap(({ settings }) => settings.map((setting) => [setting.path, setting])),
  );
  for (const path of request.assumed ?? []) assume(settings, path);
  const folders = { cwd: request.cwd, file };
  const secretFiles = [...readSecretFiles(settings, folders), ...readSecretMaps(settings, folders)];
  const { config, sources } = assemble(settings, hostDefaults(request));
  // Whoever shares a VM with others sees only what is theirs.
  if (config.pool.enabled === true) config.auth.enforce_owner = true;
  const { misfits, contradictions } = check(config, sources);
  return {
    config,
    sources,
    secrets: secretsOf(config),
    ...(file && { file: file.name }),
    unusable: [...layers.flatMap((each) => each.problems), ...misfits],
    secretFiles,
    contradictions,
    written: new Set(layer.settings.flatMap(writtenBy)),
  };
}

function writtenBy({ path, value }: Setting): string[] {
  if (!SECRET_MAPS.includes(path)) return [path];
  const entries = Object.entries((value ?? {}) as object).filter(([, entry]) => typeof entry === 'string');
  return [path, ...entries.map(([name]) => `${path}.${name}`)];
}

function assume(settings: Map<string, Setting>, path: string): void {
  settings.delete(path + SECRET_FILE_SUFFIX);
  const source: Source = { layer: 'environment', name: envName(path) };
  settings.set(path, { path, value: `a value of ${path} that is known where it runs`, source });
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
function check(config: Config, sources: ReadonlyMap<string, Source>) {
  const at = (key: string, words: string) => problemAt(sources.get(key) ?? { layer: 'default' }, words, key);
  const misfits = mismatches(config).map(({ path, words }) => at(path, words));
  const broken = misfits.length > 0 ? [] : brokenRules(config);
  return { misfits, contradictions: broken.map(({ key, words }) => at(key, words)) };
}

function secretsOf(config: Config): string[] {
  const ofMaps = SECRET_MAPS.flatMap((path) => Object.values(valueAt(config, path) ?? {}));
  return [...SECRET_PATHS.map((path) => valueAt(config, path)), ...ofMaps].filter(
    (value): value is string => typeof value === 'string',
  );
}
