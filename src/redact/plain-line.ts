// The short way of a line into the log: one text, looked through once. Where anything in it is nested, escaped, long or
// might be secret there is no short way, and the line is copied and redacted part by part (logger.ts). Both give the same.
import type { Redactor } from './engine.ts';

export interface LineParts {
  level: string;
  /** As the line shows it. */
  time: string;
  fields: object;
  message: string;
}

/** Anything else is not written as it is, or is the line's own. */
const NAME = /^(?!(?:level|time|message)$)\w{1,64}$/;
/** What JSON escapes, and halves of characters, of which it escapes those that are alone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
const MOST_FIELDS = 64;
const MOST_NAMES = 1000;

/** Makes lines of JSON as they are logged, with their end; undefined for one that has to go the long way. Never throws. */
export function plainLines(redactor: Redactor): (parts: LineParts) => string | undefined {
  /** `,"name":` by name: those of a log are a few dozen. */
  const labels = new Map<string, string>();
  const labelOf = (name: string): string | undefined => {
    // Asked each time: what is secret changes while the server runs.
    if (!redactor.isPlainName(name)) return undefined;
    const known = labels.get(name);
    if (known !== undefined || !NAME.test(name)) return known;
    const label = `,"${name}":`;
    if (labels.size < MOST_NAMES) labels.set(name, label);
    return label;
  };
  return (parts) => {
    try {
      return lineOf(parts, redactor, labelOf);
    } catch {
      // A getter or a proxy; the long way reads around it.
      return undefined;
    }
  };
}

function lineOf(
  { level, time, fields, message }: LineParts,
  redactor: Redactor,
  labelOf: (name: string) => string | undefined,
): string | undefined {
  const entries = Object.entries(fields);
  if (entries.length > MOST_FIELDS || Object.getPrototypeOf(fields) !== Object.prototype) return undefined;
  let line = `{"level":"${level}","time":"${time}"`;
  let texts = message;
  for (const [name, value] of entries) {
    if (value === undefined) continue;
    const label = labelOf(name);
    if (label === undefined || !isScalar(value)) return undefined;
    if (typeof value !== 'string') {
      line += `${label}${value}`;
      continue;
    }
    // What is escaped may be a secret that no longer looks like one.
    if (ESCAPED.test(value)) return undefined;
    line += `${label}"${value}"`;
    texts += `\n${value}`;
  }
  return ESCAPED.test(message) || !redactor.isPlain(texts) ? undefined : `${line},"message":"${message}"}\n`;
}

function isScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || value === null;
}
