// Parses YAML text to a document that is safe to walk: known tags, few aliases, problems in our own words with their
// positions.
import { type Alias, isAlias, type Node, parseDocument, visit, type YAMLError } from 'yaml';
import { type Problem, problemAt, type Source } from './setting.ts';
import { TextLines } from './text-lines.ts';
import { withoutComments } from './yaml-comments.ts';

const MAX_ALIASES = 100;
const MOST_FAULTS = 10;
/** A pair and its value count as two; the deepest key has eight. The parser's own limit is the stack that is left. */
const MOST_NESTED = 100;
const TOO_DEEP = 'RESOURCE_EXHAUSTION';

export interface YamlDocument {
  contents: Node | null;
  problems: Problem[];
  /** What the offsets in `contents` are of: the same lines, but maybe without comments. */
  text: string;
  at(node: unknown): Source;
  /** The node that an alias stands for; an alias to nothing and any other node as it is. */
  deref(node: unknown): unknown;
}

/** `contents` is null when the text is empty or has `problems`. Linear in the text. Never throws. */
export function readYaml(given: string, name: string): YamlDocument {
  const { document, text } = documentOf(given);
  const lines = new TextLines(text);
  const place = (offset: number): Source => ({ layer: 'file', name, ...lines.placeOf(offset) });
  const at = (node: unknown) => place((node as Node | undefined)?.range?.[0] ?? 0);
  const faults = [...document.errors, ...document.warnings];
  const isDeep = isTooDeep(faults, document.contents);
  const reported = isDeep ? [{ pos: [deepLine(text)], code: TOO_DEEP } as const] : faults;
  const problems = distinct(reported.map(({ pos, code }) => problemAt(place(pos[0]), faultWords(code))));
  const excess = !isDeep && aliasBeyond(document.contents, MAX_ALIASES);
  if (excess) problems.push(problemAt(at(excess), 'more aliases than a configuration needs'));
  return {
    contents: problems.length > 0 ? null : document.contents,
    problems,
    text,
    at,
    deref: (node) => (isAlias(node) ? (node.resolve(document) ?? node) : node),
  };
}

/** Problems are those of the text as it is. */
function documentOf(text: string) {
  const bare = withoutComments(text);
  const document = parseDocument(bare, OPTIONS);
  if (document.errors.length + document.warnings.length === 0) return { document, text: bare };
  return { document: parseDocument(text, OPTIONS), text };
}

// uniqueKeys would compare each key with each other one; the walk does it in linear time. The schema is named so that
// a %YAML 1.1 directive brings no merge keys in; a silent log level would hide a second document.
const OPTIONS = {
  uniqueKeys: false,
  prettyErrors: false,
  schema: 'core',
  merge: false,
  resolveKnownTags: false,
  logLevel: 'error',
} as const;

const FAULTS: Record<string, string> = {
  [TOO_DEEP]: 'nested too deeply',
  TAG_RESOLVE_FAILED: 'an unknown tag',
  MULTIPLE_DOCS: 'a second document begins',
  TAB_AS_INDENT: 'a tab cannot indent',
  BAD_INDENT: 'the indentation does not fit',
  BAD_ALIAS: 'an alias that cannot be used',
  MISSING_CHAR: 'a character is missing, such as a closing quote or bracket',
};

/** Our own words: the reader's may quote the file. */
function faultWords(code: string): string {
  return FAULTS[code] ?? `not YAML (${code.toLowerCase().replaceAll('_', ' ')})`;
}

/** The first of each line; a broken file has thousands of consequences. */
function distinct(problems: readonly Problem[]): Problem[] {
  const first = new Map<number | undefined, Problem>();
  for (const problem of problems) if (!first.has(problem.line)) first.set(problem.line, problem);
  return [...first.values()].slice(0, MOST_FAULTS);
}

function isTooDeep(faults: readonly YAMLError[], contents: Node | null): boolean {
  if (faults.some(({ code }) => code === TOO_DEEP)) return true;
  let isDeep = false;
  visit(contents, {
    Node: (_, __, path) => {
      isDeep = path.length > MOST_NESTED;
      return isDeep ? visit.BREAK : undefined;
    },
  });
  return isDeep;
}

/** Where it begins, as far as one line tells. From the text alone: how far the parser comes depends on the stack it has. */
function deepLine(text: string): number {
  return /^(?:(?:[^\n[{?-]*[[{?-]){50}| {50})/m.exec(text)?.index ?? 0;
}

function aliasBeyond(contents: Node | null, most: number): Alias | undefined {
  let count = 0;
  let excess: Alias | undefined;
  visit(contents, {
    Alias: (_, alias) => {
      count += 1;
      if (count <= most) return undefined;
      excess = alias;
      return visit.BREAK;
    },
  });
  return excess;
}
