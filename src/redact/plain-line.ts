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
/** What JSON escapes, halves of characters, of which it escapes those that are alone, and what the log escapes besides. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
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
  if (Object.getPrototypeOf(fields) !== Object.prototype) return undefined;
  let line = `{"level":"${level}","time":"${time}"`;
  let texts = message;
  let left = MOST_FIELDS;
  for (const name in fields) {
    const value = (fields as Record<string, unknown>)[name];
    if (value === undefined) continue;
    const label = labelOf(name);
    left -= 1;
    if (label === undefined || left < 0 || !isScalar(value)) return undefined;
    if (typeof value === 'string') {
      line += `${label}"${value}"`;
      texts += ` ${value}`;
    } else line += `${label}${value}`;
  }
  // What is escaped may be a secret that no longer looks like one.
  return ESCAPED.test(texts) || !redactor.isPlain(texts)
    ? undefined
    : flattened(`${line},"message":"${message}"}\n`);
}

/** Else it stays the twenty texts that it was put together of, which are kept, moved and freed one by one. */
function flattened(line: string): string | undefined {
  return line.charCodeAt(0) === BRACE ? line : undefined;
}

const BRACE = 0x7b;

function isScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || value === null;
}
