// Removes secrets from text and from structures, for logs, error messages and reports
// (docs/design/reliability.md#redaction).
// Order: exact known values, then keys that are secret by schema or by name, then shapes in text.
// Known values shorter than four characters are not replaced in text: that would mask every line and hide nothing.

import { boundedCopy, type CopyLimits, cutClean } from './bounded-copy.ts';
import { encodedForms } from './encoded-forms.ts';
import {
  type Clean,
  type FlatJson,
  flatJson,
  LONGEST_NAME,
  MOST_NAMES,
  type QuotedText,
  quotedText,
} from './flat-json.ts';
import { HINTS, isSecretKey, MASK, TEXT_RULES } from './rules.ts';

const SHORTEST_KNOWN = 4;

/** A secret with its path in the structure (empty for a plain text) and the rule that found it. */
export interface Finding {
  path: string;
  rule: string;
  secret: string;
}

export interface RedactorOptions {
  /** Secret values of the loaded configuration. */
  secrets: readonly string[];
  /** Dotted paths that are secret by the schema. */
  schemaSecretPaths?: readonly string[];
  /** The replacement for a secret, `[redacted]` by default. Must start with `[redacted`, which the rules skip. */
  mark?: (finding: Finding) => string;
  /** Replaces other private data after secrets are removed: a value by its key, parts of texts. */
  further?: {
    value(key: string, path: string, value: unknown): string | undefined;
    text(text: string, path: string): string;
  };
  /** Limits for copies of structures. */
  limits?: CopyLimits;
}

export interface Redactor {
  /** Removes secrets in linear time. */
  text(text: string): string;
  /** The first `most` characters without secrets, in time bounded by `most`; never ends in a part of a secret. */
  cut(text: string, most: number): string;
  /** A plain, bounded, acyclic copy of `value` without secrets, fit for JSON. Never throws. */
  value(value: unknown): unknown;
  /** The members of `value` as JSON for those whose copy would be flat and small; undefined for others. May throw what a getter throws. */
  flat: FlatJson;
  /** The text without secrets as JSON. */
  quoted: QuotedText;
}

type Mark = (finding: Finding) => string;

export function redactor({ mark = () => MASK, further, ...options }: RedactorOptions): Redactor {
  const known = knownForms(options.secrets);
  const paths = new Set(options.schemaSecretPaths);
  const text = (input: string, path: string) => {
    const context = { path, mark };
    const clean = maskShapes(maskKnown(input, known, context), context);
    return further ? further.text(clean, path) : clean;
  };
  const masked = (key: string, path: string, value: unknown): string | undefined => {
    const rule = paths.has(path) ? 'schema' : isSecretKey(key) && !isHarmless(key, value) ? 'key' : undefined;
    if (rule) return mark({ path, rule, secret: typeof value === 'string' ? value : '' });
    return further?.value(key, path, value);
  };
  const name = cleanNames(text);
  const isPlain = (key: string) => !isSecretKey(key) && !paths.has(key) && name(key, '') === key;
  return {
    text: (input) => text(input, ''),
    cut: (input, most) => cutClean(input, most, (head) => text(head, '')),
    value: (value) => boundedCopy(value, { text, name, masked }, options.limits),
    flat: further || options.limits ? () => undefined : flatJson({ text, isPlain }),
    quoted: quotedText(text),
  };
}

/** Caches harmless key names, because they repeat. */
function cleanNames(text: Clean): Clean {
  const harmless = new Set<string>();
  return (name, path) => {
    if (harmless.has(name)) return name;
    const clean = text(name, path);
    if (clean === name && name.length <= LONGEST_NAME && harmless.size < MOST_NAMES) harmless.add(name);
    return clean;
  };
}

interface MarkContext {
  path: string;
  mark: Mark;
}

interface Known {
  /** One pattern for all forms, so that the time does not grow with their number. */
  pattern: RegExp | undefined;
  /** The same, which only says whether there is one: most texts have none, and looking for what to replace takes longer. */
  any: RegExp;
  /** Length of the shortest form; a shorter text has none. */
  shortest: number;
  /** Form → its secret. */
  origins: ReadonlyMap<string, string>;
}

/** Longest first, so that a secret which contains another is removed completely. */
function knownForms(secrets: readonly string[]): Known {
  const origins = new Map(
    secrets
      .filter((secret) => secret.length >= SHORTEST_KNOWN)
      .flatMap((secret) => encodedForms(secret).map((form) => [form, secret] as const)),
  );
  const forms = [...origins.keys()].sort((a, b) => b.length - a.length).map(escaped);
  const shortest = Math.min(...[...origins.keys()].map(({ length }) => length));
  const source = forms.join('|');
  const pattern = forms.length > 0 ? new RegExp(source, 'g') : undefined;
  return { pattern, any: new RegExp(source), shortest, origins };
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function maskKnown(text: string, known: Known, { path, mark }: MarkContext): string {
  const { pattern, any, shortest, origins } = known;
  if (!pattern || text.length < shortest || !any.test(text)) return text;
  return text.replace(pattern, (form) => mark({ path, rule: 'known', secret: origins.get(form) ?? form }));
}

function maskShapes(text: string, { path, mark }: MarkContext): string {
  // Most texts have no hint.
  if (!HINTS.some((hint) => hint.test(text))) return text;
  let masked = text;
  for (const { id, hint, pattern, after = '' } of TEXT_RULES) {
    if (!hint.test(masked)) continue;
    masked = masked.replace(pattern, (match: string, group: unknown) => {
      // Of a pattern without groups it is the position.
      const before = typeof group === 'string' ? group : '';
      const secret = match.slice(before.length, match.length - after.length);
      return `${before}${mark({ path, rule: id, secret })}${after}`;
    });
  }
  return masked;
}

/** A boolean only says whether a secret exists, and `max_tokens: 5` is a count. */
function isHarmless(key: string, value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && key.endsWith('s'))
  );
}
