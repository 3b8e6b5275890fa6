// The configuration files as one layer: what the first does not set is read from the next.
import { dirname } from 'node:path';
import { SECRET_MAPS } from '../schema/config-keys.ts';
import { type ConfigFile, type ConfigLocation, type FileOutcome, findConfigFiles } from './config-file.ts';
import { type Layer, problemAt, type Setting } from './setting.ts';
import { yamlLayer } from './yaml-layer.ts';

export interface FileLayer extends Layer {
  /** Those that were read, strongest first. */
  files: ConfigFile[];
  /**
   * Maps the name of a file to the key paths that it sets, twins included; for a map of secrets, also the entries that
   * are not `{file: PATH}`.
   */
  written: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Never throws: what is wrong with any of the files is in `problems`. `named` as `findConfigFiles` takes it. */
export function fileLayer(named: readonly string[], place: ConfigLocation): FileLayer {
  const read = findConfigFiles(named, place).map((outcome) => ({ ...outcome, layer: layerOf(outcome) }));
  const usable = read.filter((each) => !('fault' in each));
  return {
    files: usable.map(({ name, path }) => ({ name, path })),
    written: new Map(usable.map(({ name, layer }) => [name, new Set(layer.settings.flatMap(writtenBy))])),
    settings: read.map(({ layer }) => layer.settings).reduceRight(laidOver, []),
    problems: read.flatMap(({ layer }) => layer.problems),
    isCut: read.some((each) => 'fault' in each || each.layer.isCut === true),
  };
}

function layerOf(outcome: FileOutcome): Layer {
  const { name, path } = outcome;
  if ('fault' in outcome) {
    const message = problemAt({ layer: 'file', name }, `the file ${outcome.fault}`);
    return { settings: [], problems: [message] };
  }
  const { settings, ...rest } = yamlLayer(outcome.text, name);
  return { settings: settings.map((setting) => ({ ...setting, folder: dirname(path) })), ...rest };
}

/** A key counts as a whole, but each entry of a map of secrets is a key of its own. */
function laidOver(lower: readonly Setting[], upper: readonly Setting[]): Setting[] {
  const settings = new Map(lower.map((setting) => [setting.path, setting]));
  for (const setting of upper) {
    const below = settings.get(setting.path);
    settings.set(
      setting.path,
      below && SECRET_MAPS.includes(setting.path) ? joined(below, setting) : setting,
    );
  }
  return [...settings.values()];
}

function joined(lower: Setting, upper: Setting): Setting {
  if (!isPlain(lower.value) || !isPlain(upper.value)) return upper;
  const entries = new Map([
    ...Object.keys(lower.value).map((name): [string, Setting] => [name, lower]),
    ...Object.keys(upper.value).map((name): [string, Setting] => [name, upper]),
  ]);
  return { ...upper, value: { ...lower.value, ...upper.value }, entries };
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function writtenBy({ path, value }: Setting): string[] {
  if (!SECRET_MAPS.includes(path)) return [path];
  const entries = Object.entries((value ?? {}) as object).filter(([, entry]) => typeof entry === 'string');
  return [path, ...entries.map(([name]) => `${path}.${name}`)];
}
