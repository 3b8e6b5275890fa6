// Removes secrets from text and from structures, for logs, error messages and reports
// (docs/design/reliability.md#redaction).
// Order: exact known values, then keys that are secret by schema or by name, then shapes in text.
// A known value shorter than four characters is not replaced in text: it would mask every line and hide nothing.

import { boundedCopy, type CopyLimits, cutClean } from './bounded-copy.ts';
import { encodedForms } from './encoded-forms.ts';
import { HINT, isSecretKey, MASK, TEXT_RULES, type TextRule } from './rules.ts';

const SHORTEST_KNOWN = 4;
/** Beyond this the rules by themselves are as fast. */
const LONGEST_HINTED = 2048;

/** What was found: where in a structure (empty for a text by itself), by which rule, and the secret as it stood there. */
export interface Finding {
  path: string;
  rule: string;
  secret: string;
}

export interface RedactorOptions {
  /** Secret values of the loaded configuration. */
  secrets: readonly string[];
  /** Dotted paths, from the root of a structure, that are secret by the schema. */
  schemaSecretPaths?: readonly string[];
  /** What to put instead of a secret, `[redacted]` unless given. It must begin with `[redacted`: rules pass those over. */
  mark?: (finding: Finding) => string;
  /** Replaces what is no secret but is not to be seen either, after secrets are gone: a value by its key, parts of texts. */
  further?: {
    value(key: string, path: string, value: unknown): string | undefined;
    text(text: string, path: string): string;
  };
  /** Of structures. */
  limits?: CopyLimits;
}

export interface Redactor {
  /** `text` without secrets. Linear in its length. */
  text(text: string): string;
  /** The first `most` characters of it, in time that is bounded as they are; no part of a secret shows at the end. */
  cut(text: string, most: number): string;
  /** A plain, bounded, acyclic copy of `value` without secrets, fit for JSON. Never throws. */
  value(value: unknown): unknown;
}

type Mark = (finding: Finding) => string;

export function redactor({ mark = () => MASK, further, ...options }: RedactorOptions): Redactor {
  const known = knownForms(options.secrets);
  const paths = new Set(options.schemaSecretPaths);
  const text = (input: string, path: string) => {
    const place = { path, mark };
    const clean = maskShapes(maskKnown(input, known, place), place);
    return further ? further.text(clean, path) : clean;
  };
  const masked = (key: string, path: string, value: unknown): string | undefined => {
    const rule = paths.has(path) ? 'schema' : isSecretKey(key) && !isHarmless(key, value) ? 'key' : undefined;
    if (rule) return mark({ path, rule, secret: typeof value === 'string' ? value : '' });
    return further?.value(key, path, value);
  };
  const name = cleanNames(text);
  return {
    text: (input) => text(input, ''),
    cut: (input, most) => cutClean(input, most, (head) => text(head, '')),
    value: (value) => boundedCopy(value, { text, name, masked }, options.limits),
  };
}

type Clean = (text: string, path: string) => string;

const MOST_NAMES = 1000;
const LONGEST_NAME = 64;

/** Names of keys come again and again: those that hold nothing are looked at once. */
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
  /** One pattern for all forms: looking for each by itself takes as long as there are secrets. */
  pattern: RegExp | undefined;
  /** Characters of the shortest form: a shorter text has none. */
  shortest: number;
  /** Form → the secret it is one of. */
  origins: ReadonlyMap<string, string>;
}

/** Longest first, so that a secret which holds another is gone whole. */
function knownForms(secrets: readonly string[]): Known {
  const origins = new Map(
    secrets
      .filter((secret) => secret.length >= SHORTEST_KNOWN)
      .flatMap((secret) => encodedForms(secret).map((form) => [form, secret] as const)),
  );
  const forms = [...origins.keys()].sort((a, b) => b.length - a.length).map(escaped);
  const shortest = Math.min(...[...origins.keys()].map(({ length }) => length));
  return { pattern: forms.length > 0 ? new RegExp(forms.join('|'), 'g') : undefined, shortest, origins };
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

function maskKnown(text: string, { pattern, shortest, origins }: Known, { path, mark }: MarkContext): string {
  if (!pattern || text.length < shortest) return text;
  return text.replace(pattern, (form) => mark({ path, rule: 'known', secret: origins.get(form) ?? form }));
}

function maskShapes(text: string, place: MarkContext): string {
  if (text.length < LONGEST_HINTED && !HINT.test(text)) return text;
  let masked = text;
  for (const rule of TEXT_RULES) {
    if (rule.needs && !rule.needs.some((need) => text.includes(need))) continue;
    masked = masked.replace(rule.pattern, (match: string, ...groups: unknown[]) =>
      replaced(rule, { match, groups }, place),
    );
  }
  return masked;
}

/** `replacement` says what of a match stays before and after the secret. */
function replaced(
  rule: TextRule,
  found: { match: string; groups: unknown[] },
  { path, mark }: MarkContext,
): string {
  const [before = '', after = ''] = rule.replacement
    .split(MASK)
    .map((part) => part.replace(/\$(\d)/g, (_, at: string) => String(found.groups[Number(at) - 1] ?? '')));
  const secret = found.match.slice(before.length, found.match.length - after.length);
  return `${before}${mark({ path, rule: rule.id, secret })}${after}`;
}

/** Flags say whether there is a secret, and `max_tokens: 5` is a count. */
function isHarmless(key: string, value: unknown): boolean {
  return (
    value === null ||
    value === undefined ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && key.endsWith('s'))
  );
}
