// Removes secrets from text and from structures, for logs, error messages and reports (operations.md part 7).
// Order: exact known values, then keys that are secret by schema or by name, then shapes in text.
// A known value shorter than four characters is not replaced in text: it would mask every line and hide nothing.
import { encodedForms } from './encoded-forms.ts';
import { isSecretKey, MASK, TEXT_RULES } from './rules.ts';
import { boundedCopy } from './structure.ts';

const SHORTEST_KNOWN = 4;

export interface RedactorOptions {
  /** Secret values of the loaded configuration. */
  secrets: readonly string[];
  /** Dotted paths, from the root of a structure, that are secret by the schema. */
  schemaSecretPaths?: readonly string[];
}

export interface Redactor {
  /** `text` without secrets. Linear in its length. */
  text(text: string): string;
  /** A plain, bounded, acyclic copy of `value` without secrets, fit for JSON. Never throws. */
  value(value: unknown): unknown;
}

export function redactor(options: RedactorOptions): Redactor {
  const known = knownForms(options.secrets);
  const paths = new Set(options.schemaSecretPaths);
  const text = (input: string) => maskShapes(maskKnown(input, known));
  const isSecret = (key: string, path: string, value: unknown) =>
    paths.has(path) || (isSecretKey(key) && !isHarmless(key, value));
  return { text, value: (value) => boundedCopy(value, { text, isSecret, mask: MASK }) };
}

/** Longest first, so that a secret which holds another is gone whole. */
function knownForms(secrets: readonly string[]): string[] {
  const forms = secrets.filter((secret) => secret.length >= SHORTEST_KNOWN).flatMap(encodedForms);
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

function maskKnown(text: string, known: readonly string[]): string {
  let masked = text;
  for (const form of known) if (masked.includes(form)) masked = masked.replaceAll(form, MASK);
  return masked;
}

function maskShapes(text: string): string {
  const lower = text.toLowerCase();
  let masked = text;
  for (const { needs, pattern, replacement } of TEXT_RULES) {
    if (needs.some((need) => lower.includes(need))) masked = masked.replace(pattern, replacement);
  }
  return masked;
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
