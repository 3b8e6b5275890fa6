// The positions of keys and entries in a YAML file, for checks that report values instead of using them. A missing key
// has the position of its nearest section.
import { isMap, isScalar, isSeq, type Node, type Pair } from 'yaml';
import { TextLines } from './text-lines.ts';
import { readYaml, type YamlDocument } from './yaml-document.ts';

export interface SourcePosition {
  /** From 1. */
  line: number;
  /** From 1, in UTF-16 units. */
  column: number;
  /** First column after it; on the same line. */
  endColumn: number;
  /** Whether the key itself stands here, not only a section around it. */
  isExact: boolean;
}

/** Finds the position of a key by its path, or of an entry of its list. */
export type FindPosition = (path: string, entry?: number) => SourcePosition;

interface Range {
  start: number;
  end: number;
}

/** For text that is valid YAML; another has one position, its beginning. */
export function yamlPositions(given: string): FindPosition {
  const document = readYaml(given, '');
  const { text } = document;
  const lines = new TextLines(text);
  return (path, entry) => {
    const { range, isExact } = rangeOf(document, path.split('.'), entry);
    const { line, column } = lines.placeOf(range.start);
    const end = Math.min(range.end, endOfLine(text, range.start));
    return { line, column, endColumn: Math.max(column, end - range.start + column), isExact };
  };
}

function rangeOf(document: YamlDocument, names: readonly string[], entry: number | undefined) {
  let node: unknown = document.deref(document.contents);
  let range: Range = { start: 0, end: 0 };
  for (const name of names) {
    const pair = isMap(node)
      ? (node.items as Pair[]).find(({ key }) => nameOf(document, key) === name)
      : undefined;
    if (!pair) return { range, isExact: false };
    range = pairRange(pair);
    node = document.deref(pair.value);
  }
  const item = entry !== undefined && isSeq(node) ? (node.items[entry] as Node | undefined) : undefined;
  return { range: item?.range ? { start: item.range[0], end: item.range[1] } : range, isExact: true };
}

function nameOf(document: YamlDocument, key: unknown): string | undefined {
  const node = document.deref(key);
  return isScalar(node) ? String(node.value) : undefined;
}

/** From the key to the end of a value; a section or list below the key is more than its line. */
function pairRange({ key, value }: Pair): Range {
  const [start, keyEnd] = (key as Node).range ?? [0, 0];
  const valueEnd = (value as Node | null)?.range?.[1];
  return { start, end: Math.max(keyEnd, valueEnd ?? keyEnd) };
}

function endOfLine(text: string, from: number): number {
  const next = text.indexOf('\n', from);
  const end = next === -1 ? text.length : next;
  return text[end - 1] === '\r' ? end - 1 : end;
}
