// Records what a redactor removed: where, how often, and under which pseudonym. The same value always gets the same
// pseudonym within one ledger, so that a reader can see that two values are the same secret.
import type { Finding } from './engine.ts';

const MOST_PSEUDONYMS = 10;

export interface LedgerEntry {
  place: string;
  rule: string;
  count: number;
  pseudonyms: string[];
}

export interface Ledger {
  /** For `RedactorOptions.mark`. */
  mark(finding: Finding): string;
  /** Returns a pseudonym for a value that identifies somebody; it contains `kind`. */
  rename(kind: string, value: string, path: string): string;
  /** Sorted by location, then by rule. */
  entries(): LedgerEntry[];
}

export function redactionLedger(): Ledger {
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  const entries = new Map<string, LedgerEntry>();
  const nameOf = (kind: string, value: string) => {
    const known = names.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    const name = `[${kind}-${number}]`;
    names.set(`${kind} ${value}`, name);
    return name;
  };
  const note = (place: string, rule: string, pseudonym: string) => {
    const entry = entries.get(`${place} ${rule}`) ?? { place, rule, count: 0, pseudonyms: [] };
    entries.set(`${place} ${rule}`, entry);
    entry.count += 1;
    if (!entry.pseudonyms.includes(pseudonym) && entry.pseudonyms.length < MOST_PSEUDONYMS)
      entry.pseudonyms.push(pseudonym);
    return pseudonym;
  };
  return {
    mark: ({ path, rule, secret }) => note(path, rule, nameOf('redacted', bare(secret))),
    rename: (kind, value, path) => note(path, kind, nameOf(kind, value)),
    entries: () => [...entries.values()].sort((a, b) => compare(a.place, b.place) || compare(a.rule, b.rule)),
  };
}

/** A quoted secret is the same as one without its quotes. */
const bare = (secret: string) => secret.replace(/^\\?["']/, '');

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
