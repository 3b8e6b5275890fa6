// Defaults, then the files, then SVC_ variables, then flags, to one configuration that knows where each value came from.
import { passwordsIn } from '../domain/database-address.ts';
import type { Config } from '../schema/config.ts';
import { CONFIG_KEYS, SECRET_FILE_SUFFIX, SECRET_MAPS, SECRET_PATHS } from '../schema/config-keys.ts';
import { envName } from '../schema/config-walk.ts';
import type { ConfigFile } from './config-file.ts';
import { environmentLayer } from './environment-layer.ts';
import { fileLayer } from './file-layer.ts';
import { flagLayer, type Partially, valueAt } from './flag-layer.ts';
import { type HostFacts, hostDefaults } from './host-defaults.ts';
import { brokenRules } from './rules.ts';
import { readSecretFiles } from './secret-files.ts';
import { readSecretMaps } from './secret-maps.ts';
import { configFailure, type Problem, problemAt, type Setting, type Source } from './setting.ts';
import { mismatches } from './validate.ts';

export interface LoadRequest extends HostFacts {
  flags?: Partially<Config>;
  env: Record<string, string | undefined>;
  cwd: string;
  /** What `--config` says, or several, strongest first; goes before SVC_CONFIG. Nothing but these is read. */
  file?: string | readonly string[] | undefined;
  /** Secrets taken to be given elsewhere: each gets a stand-in value, and its `_file` twin is not read. */
  assumed?: readonly string[];
}

export interface LoadedConfig {
  config: Config;
  /** Has an entry for every key path; a secret read from a file has the source of its `_file` twin. */
  sources: ReadonlyMap<string, Source>;
  /** Those that were read, strongest first. */
  files: readonly ConfigFile[];
  /** Secret values, for redaction. */
  secrets: string[];
  /** Files that secrets were read from, by key; for an entry of a map such as `egress.credentials.NAME`. */
  secretPaths: ReadonlyMap<string, string>;
}

/** A configuration as far as it could be read, with what is wrong by kind. */
export interface ConfigReading extends LoadedConfig {
  /** Files, syntax, names, and values that do not fit: those are left out of `config`. */
  unusable: Problem[];
  /** Keys among them whose values do not fit. */
  misfits: ReadonlySet<string>;
  /** A part of the files could not be read: `config` says nothing of what may stand there. */
  isCut: boolean;
  /** Secret files that cannot be used, by the key of the twin; their keys are unset. */
  secretFiles: Problem[];
  /** Broken rules between keys that all fit. */
  contradictions: Problem[];
  /** As a `FileLayer` tells it. */
  written: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Reads and checks the configuration. Throws one `bad_request` whose `details.problems` lists everything that is wrong,
 * each with its file, line and column or its variable. No value is quoted in it.
 */
export function loadConfig(request: LoadRequest): LoadedConfig {
  const { unusable, secretFiles, contradictions, ...reading } = readConfig(request);
  const problems = [...unusable, ...secretFiles, ...contradictions];
  if (problems.length > 0) throw configFailure(problems);
  const { written: _, misfits: __, isCut: ___, ...loaded } = reading;
  return loaded;
}

/** Like `loadConfig`, for callers that check the configuration instead of using it. Never throws. */
export function readConfig(request: LoadRequest): ConfigReading {
  const inFiles = fileLayer(namedFiles(request), request);
  const layers = [inFiles, environmentLayer(request.env), flagLayer(request.flags ?? {})];
  const settings = new Map(
    layers.flatMap(({ settings }) => settings.map((setting) => [setting.path, setting])),
  );
  for (const path of request.assumed ?? []) assume(settings, path);
  const { cwd } = request;
  const secretFiles = [...readSecretFiles(settings, cwd), ...readSecretMaps(settings, cwd)];
  const configured = assemble(settings, hostDefaults(request));
  const misfits = mismatches(configured.config);
  for (const { path } of misfits) settings.delete(path);
  const { config, sources } = misfits.length > 0 ? assemble(settings, hostDefaults(request)) : configured;
  // Whoever shares a VM with others sees only what is theirs.
  if (config.pool.enabled === true) config.auth.enforce_owner = true;
  // Names that lead to this machine without a name server.
  if (config.e2b.listen !== '' && config.server.preview_domain === '')
    config.server.preview_domain = LOCAL_DOMAIN;
  const isCut = inFiles.isCut === true;
  const keys = misfits.map(({ path }) => path);
  return {
    config,
    sources,
    // Also those that do not fit.
    secrets: secretsOf(configured.config),
    secretPaths: new Map([...settings.values()].flatMap(({ files }) => [...(files ?? [])])),
    files: inFiles.files,
    unusable: [
      ...layers.flatMap((each) => each.problems),
      ...misfits.map(({ path, words }) => placed(configured.sources, path, words)),
    ],
    misfits: new Set(keys),
    isCut,
    secretFiles,
    contradictions: isCut ? [] : contradictions({ config, sources }, keys),
    written: inFiles.written,
  };
}

function namedFiles({ file, env }: LoadRequest): readonly string[] {
  const named = file ?? (env.SVC_CONFIG || undefined) ?? [];
  return typeof named === 'string' ? [named] : named;
}

/** The domain of `e2b.listen` where none is set. */
const LOCAL_DOMAIN = 'e2b.localhost';

/** Stand-ins where any text would break a rule. */
const STAND_INS: Readonly<Record<string, string>> = { 'database.url': 'postgres://svc@127.0.0.1/svc' };

function assume(settings: Map<string, Setting>, path: string): void {
  settings.delete(path + SECRET_FILE_SUFFIX);
  const source: Source = { layer: 'environment', name: envName(path) };
  const value = STAND_INS[path] ?? `a value of ${path} that is known where it runs`;
  settings.set(path, { path, value, source });
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

interface Assembled {
  config: Config;
  sources: ReadonlyMap<string, Source>;
}

/** Broken rules between keys, but for those that name one of `misfits`: it has a default in place of what was meant. */
function contradictions({ config, sources }: Assembled, misfits: readonly string[]): Problem[] {
  const isSet = (path: string) => (sources.get(path) ?? { layer: 'default' }).layer !== 'default';
  return brokenRules(config, isSet)
    .filter(({ key, words }) => !misfits.some((path) => path === key || words.includes(path)))
    .map(({ key, words }) => placed(sources, key, words));
}

const placed = (sources: ReadonlyMap<string, Source>, key: string, words: string) =>
  problemAt(sources.get(key) ?? { layer: 'default' }, words, key);

function secretsOf(config: Config): string[] {
  const ofMaps = SECRET_MAPS.flatMap((path) => Object.values(valueAt(config, path) ?? {}));
  const texts = [...SECRET_PATHS.map((path) => valueAt(config, path)), ...ofMaps].filter(
    (value): value is string => typeof value === 'string',
  );
  const url = valueAt(config, 'database.url');
  return typeof url === 'string' ? [...texts, ...passwordsIn(url)] : texts;
}
