// The file layer: YAML text to settings with their line and column. The walk follows our schema, never the document,
// so aliases cannot blow it up, and what it finds is a key, a problem, or a value of known shape.
import { isMap, isScalar, isSeq, type Pair } from 'yaml';
import {
  CONFIG_KEYS,
  CONFIG_SECTIONS,
  OBJECT_MAPS,
  SECRET_FILE_SUFFIX,
  SECRET_MAPS,
  SECRET_PATHS,
} from '../schema/config-keys.ts';
import { nearestPath } from './nearest.ts';
import { type Layer, type Problem, problemAt, quoted, type Setting } from './setting.ts';
import { readYaml, type YamlDocument } from './yaml-document.ts';

const LEAVES = new Set([
  ...CONFIG_KEYS.map(({ path }) => path),
  ...SECRET_PATHS.map((path) => path + SECRET_FILE_SUFFIX),
]);
const SECTIONS = new Set(CONFIG_SECTIONS.map(({ path }) => path));

/** A file of nothing but mistakes is not read to its end. */
const ENOUGH_PROBLEMS = 100;

interface Reading extends YamlDocument {
  settings: Setting[];
}

/** Reads the settings of `text`. Never throws: every problem is in `problems`, with its position. */
export function yamlLayer(text: string, name: string): Layer {
  const document = readYaml(text, name);
  if (document.problems.length === 0) return layerOf(document);
  const before = headsBefore(text, document.problems)
    .map((head) => readYaml(head, name))
    .find(({ problems }) => problems.length === 0);
  const { settings, problems } = before ? layerOf(before) : { settings: [], problems: [] };
  return { settings, problems: [...problems, ...document.problems], isCut: true };
}

function layerOf(document: YamlDocument): Layer {
  const reading: Reading = { ...document, settings: [] };
  readSection(reading.contents, '', reading);
  return { settings: reading.settings, problems: reading.problems };
}

/** What stands before the first fault: to the line before, and to the section in which it is, as a quote that is not closed
 * is noticed only at the end. */
function headsBefore(text: string, problems: readonly Problem[]): string[] {
  const first = Math.min(...problems.map(({ line = 1 }) => line));
  const lines = text.split('\n').slice(0, first - 1);
  const section = lines.findLastIndex((line) => /^[^\s#]/.test(line));
  return [lines, lines.slice(0, Math.max(0, section))].map((head) => head.join('\n'));
}

function readSection(node: unknown, path: string, reading: Reading): void {
  const map = reading.deref(node);
  if (isMap(map)) readMap(map.items as Pair[], path, reading);
  else if (!isEmpty(map)) {
    const words = path === '' ? 'the file must be a map of sections' : `${path} must be a section of keys`;
    reading.problems.push(problemAt(reading.at(node), words, path));
  }
}

/** A section whose keys are all commented out is empty, not wrong. */
function isEmpty(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

function readMap(items: readonly Pair[], path: string, reading: Reading): void {
  for (const [name, { key, value }] of uniqueNames(items, path, reading)) {
    if (reading.problems.length >= ENOUGH_PROBLEMS) return;
    const below = path === '' ? name : `${path}.${name}`;
    if (name.includes('.')) reading.problems.push(problemAt(reading.at(key), unknownKey(below), below));
    else if (SECTIONS.has(below)) readSection(value, below, reading);
    else if (LEAVES.has(below))
      reading.settings.push({ path: below, value: plain(value, below, reading), source: reading.at(key) });
    else reading.problems.push(problemAt(reading.at(key), unknownKey(below), below));
  }
}

/** Name and pair of each entry; what has no name or was there before becomes a problem. */
function* uniqueNames(items: readonly Pair[], path: string, reading: Reading): Iterable<[string, Pair]> {
  const place = path === '' ? 'the file' : path;
  const refuse = (pair: Pair, words: string) =>
    void reading.problems.push(problemAt(reading.at(pair.key), words));
  const seen = new Set<string>();
  for (const pair of items) {
    const key = reading.deref(pair.key);
    const name = isScalar(key) ? String(key.value) : undefined;
    if (name === undefined) refuse(pair, `${place} has a key that is not a name`);
    else if (seen.has(name)) refuse(pair, `${place} has the key ${quoted(name)} twice`);
    else yield [name, pair];
    if (name !== undefined) seen.add(name);
  }
}

/** Stands for what is nested deeper than any key takes, and fails every type. */
const NESTED = Symbol('nested');

/** Levels of maps and lists: `{file: PATH}` in a map of secrets is one, and so are the lists of an object in a map. */
function depthOf(path: string): number {
  if (OBJECT_MAPS.includes(path)) return 3;
  return SECRET_MAPS.includes(path) ? 2 : 1;
}

/** A leaf as plain data. */
function plain(value: unknown, path: string, reading: Reading, depth = depthOf(path)): unknown {
  const node = reading.deref(value);
  if (depth === 0) return scalar(node, reading);
  if (isSeq(node)) return node.items.map((item) => scalar(item, reading));
  if (!isMap(node)) return scalar(node, reading);
  const entries = [...uniqueNames(node.items as Pair[], path, reading)];
  return Object.fromEntries(
    entries.map(([name, pair]) => [name, plain(pair.value, `${path}.${name}`, reading, depth - 1)]),
  );
}

function scalar(value: unknown, reading: Reading): unknown {
  const node = reading.deref(value);
  if (isEmpty(node)) return null;
  return isScalar(node) ? node.value : NESTED;
}

function unknownKey(path: string): string {
  const guess = nearestPath(path, [...LEAVES, ...SECTIONS]);
  return `${quoted(path)} is not a key${guess === undefined ? '' : `; did you mean ${guess}?`}`;
}
