// Findings with their positions and the source before them. A line of the file is shown only up to the end of the
// finding, and never the value of a secret key: the rest of the line, such as a comment, may be one, too.
import type { FoundFile } from '../../config/config-file.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { Problem } from '../../config/setting.ts';
import { type SourcePosition, yamlPositions } from '../../config/yaml-positions.ts';
import { printable } from '../../domain/printable.ts';
import { redactor } from '../../redact/engine.ts';
import { MASK } from '../../redact/rules.ts';
import { inSecretMap, SECRET_FILE_SUFFIX, SECRET_MAPS, SECRET_PATHS } from '../../schema/config-keys.ts';
import type { LintFinding, LintLevel } from '../../schema/lint.ts';
import { type LintRule, type RuleFinding, TOPICS } from './rule.ts';

export interface Findings {
  /** A finding of the loader, which knows its own position. */
  ofProblem(rule: LintRule, problem: Problem): LintFinding;
  ofRule(rule: LintRule, level: LintLevel, fault: RuleFinding): LintFinding;
}

/** `files` strongest first. */
export function findings(files: readonly FoundFile[], { secrets }: LoadedConfig): Findings {
  const { text: clean } = redactor({ secrets });
  const sources = files.map(sourceFile);
  const safe = (words: string) => printable(clean(words));
  const finding = (rule: LintRule, level: LintLevel, words: Words): LintFinding => ({
    rule: rule.id,
    topic: TOPICS[rule.topic],
    level,
    key: printable(words.key),
    message: safe(words.message),
    remedy: rule.remedy,
    ...words.place,
    fingerprint: fingerprint(rule.id, words.key, safe(words.distinct)),
    known: false,
  });
  return {
    ofProblem: (rule, { message, key = '', file, line = 1, column = 1 }) => {
      const { name } = sources.find((each) => each.name === file) ?? sources[0] ?? NO_FILE;
      const words = withoutPlace(message, name);
      const place = { file: name, line, column };
      return finding(rule, 'error', { key, message: words, distinct: words, place });
    },
    ofRule: (rule, level, { key = rule.key, entry, file, message = rule.title }) => {
      const isOf = (each: SourceFile) =>
        file === undefined ? placeOf(each.find(), key, entry).isExact : each.name === file;
      const { name, find, lines } = sources.find(isOf) ?? sources[0] ?? NO_FILE;
      const place = placeOf(find(), key, entry);
      const source = sourceOf(lines[place.line - 1] ?? '', place, key);
      const { line, column, endColumn } = place;
      const shown = place.isExact
        ? { file: name, line, column, end_column: endColumn, source: safe(source) }
        : { file: name, line, column };
      return finding(rule, level, {
        key,
        message,
        distinct: entry === undefined ? '' : message,
        place: shown,
      });
    },
  };
}

interface Words {
  key: string;
  message: string;
  /** What tells this finding from others of its rule and key. */
  distinct: string;
  place: Pick<LintFinding, 'file' | 'line' | 'column' | 'end_column' | 'source'>;
}

interface SourceFile {
  name: string;
  lines: readonly string[];
  find: () => ReturnType<typeof yamlPositions>;
}

const sourceFile = ({ name, text }: Pick<FoundFile, 'name' | 'text'>): SourceFile => ({
  name,
  lines: text.split(/\r?\n/),
  find: lazily(() => yamlPositions(text)),
});

const NO_FILE = sourceFile({ name: '', text: '' });

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The loader's message contains the position, for readers of the message alone. */
function withoutPlace(message: string, name: string): string {
  const rest = message.startsWith(`${name}:`) ? message.slice(name.length + 1) : message;
  return rest.replace(/^(?:\d+:)*\s*/, '');
}

/** For a secret, the position of the key or its twin. */
function placeOf(find: ReturnType<typeof yamlPositions>, key: string, entry?: number): SourcePosition {
  if (key === '') return { line: 1, column: 1, endColumn: 1, isExact: false };
  const place = find(key, entry);
  if (place.isExact || !SECRET_PATHS.includes(key)) return place;
  const twin = find(key + SECRET_FILE_SUFFIX);
  return twin.isExact ? twin : place;
}

/** Blanks up to the column, then the finding. */
function sourceOf(line: string, { column, endColumn }: SourcePosition, key: string): string {
  const words = line.slice(column - 1, endColumn - 1);
  const name = key.slice(key.lastIndexOf('.') + 1);
  const isSecret =
    SECRET_MAPS.includes(key) ||
    inSecretMap(key) ||
    (SECRET_PATHS.includes(key) && !words.startsWith(name + SECRET_FILE_SUFFIX));
  return ' '.repeat(column - 1) + (isSecret ? `${name}: ${MASK}` : words);
}

const FINGERPRINT_LENGTH = 32;

/**
 * Identifies a finding by its rule, its key and the entry of a list, so that it stays the same when lines move. In hex.
 * It contains nothing of a secret: a short hash of one would reveal it.
 */
function fingerprint(rule: string, key: string, words: string): string {
  // Loaded with the first finding: a file without one is judged in less time than this module takes to load.
  const { createHash } = process.getBuiltinModule('node:crypto');
  return createHash('sha256')
    .update([rule, key, words].join('\n'))
    .digest('hex')
    .slice(0, FINGERPRINT_LENGTH);
}
