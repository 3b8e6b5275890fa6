// Secrets by name, as tokens of workers: entries that came by a variable of their own are put into their map, and
// `{file: PATH}` becomes what the file holds.
import { SECRET_MAPS } from '../schema/config-keys.ts';
import { readSecret } from './secret-files.ts';
import { type Problem, problemAt, type Setting } from './setting.ts';

/** Leaves each map in `settings` complete, without separate entries. An entry that cannot be read is left out. */
export function readSecretMaps(settings: Map<string, Setting>, cwd: string): Problem[] {
  return SECRET_MAPS.flatMap((path) => {
    gather(settings, path);
    const map = settings.get(path);
    return map && isPlain(map.value) ? readFiles(settings, map, cwd) : [];
  });
}

function gather(settings: Map<string, Setting>, path: string): void {
  for (const entry of [...settings.values()].filter((each) => each.path.startsWith(`${path}.`))) {
    settings.delete(entry.path);
    const { value = {}, ...map } = settings.get(path) ?? {};
    if (!isPlain(value)) continue;
    const name = entry.path.slice(path.length + 1);
    settings.set(path, { ...map, path, value: { ...value, [name]: entry.value }, source: entry.source });
  }
}

function readFiles(settings: Map<string, Setting>, map: Setting, cwd: string): Problem[] {
  const problems: Problem[] = [];
  const files = new Map<string, string>();
  const entries = Object.entries(map.value as object).flatMap(([name, value]): [string, unknown][] => {
    if (!isPlain(value) || Object.keys(value).join() !== 'file') return [[name, value]];
    const from = map.entries?.get(name) ?? map;
    const path = `${map.path}.${name}`;
    const read = readSecret({ ...from, path, value: value.file }, cwd);
    if ('secret' in read) {
      files.set(path, read.file);
      return [[name, read.secret]];
    }
    problems.push(problemAt(from.source, read.fault, map.path));
    return [];
  });
  settings.set(map.path, { ...map, value: Object.fromEntries(entries), files });
  return problems;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
