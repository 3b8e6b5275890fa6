// Secrets by name, as tokens of workers: entries that came by a variable of their own are put into their map, and
// `{file: PATH}` becomes what the file holds.
import { SECRET_MAPS } from '../schema/config-keys.ts';
import { type Folders, readSecret } from './secret-files.ts';
import { type Problem, problemAt, type Setting } from './setting.ts';

/** Leaves each map in `settings` whole, without its entries beside it. What cannot be read is left out of it. */
export function readSecretMaps(settings: Map<string, Setting>, folders: Folders): Problem[] {
  return SECRET_MAPS.flatMap((path) => {
    gather(settings, path);
    const map = settings.get(path);
    return map && isPlain(map.value) ? readFiles(settings, map, folders) : [];
  });
}

function gather(settings: Map<string, Setting>, path: string): void {
  for (const entry of [...settings.values()].filter((each) => each.path.startsWith(`${path}.`))) {
    settings.delete(entry.path);
    const { value = {} } = settings.get(path) ?? {};
    if (!isPlain(value)) continue;
    const name = entry.path.slice(path.length + 1);
    settings.set(path, { path, value: { ...value, [name]: entry.value }, source: entry.source });
  }
}

function readFiles(settings: Map<string, Setting>, map: Setting, folders: Folders): Problem[] {
  const problems: Problem[] = [];
  const entries = Object.entries(map.value as object).flatMap(([name, value]): [string, unknown][] => {
    if (!isPlain(value) || Object.keys(value).join() !== 'file') return [[name, value]];
    const read = readSecret({ ...map, path: `${map.path}.${name}`, value: value.file }, folders);
    if ('secret' in read) return [[name, read.secret]];
    problems.push(problemAt(map.source, read.fault, map.path));
    return [];
  });
  settings.set(map.path, { ...map, value: Object.fromEntries(entries) });
  return problems;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
