// A test reports its trials as a line in the file that SVC_TEST_TALLY names; `npm run proof` adds up the lines. Without the
// variable nothing is written, so that tests report unconditionally.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Counts, KindName } from './kinds.ts';

interface Told {
  kind: KindName;
  name: string;
  counts: Record<string, number>;
}

/** Adds to the row `name` of a kind. Call it before what may fail, with what was found. */
export function tally<K extends KindName>(kind: K, name: string, counts: Counts<K>): void {
  const file = process.env.SVC_TEST_TALLY;
  if (file) appendFileSync(file, `${JSON.stringify({ kind, name, counts } satisfies Told)}\n`);
}

/** The counts in `file`, lines of the same row added up. */
export function readTally(file: string): Told[] {
  const rows = new Map<string, Told>();
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  for (const { kind, name, counts } of lines.map((line) => JSON.parse(line) as Told)) {
    const row = rows.get(`${kind} ${name}`) ?? { kind, name, counts: {} };
    for (const [key, count] of Object.entries(counts)) row.counts[key] = (row.counts[key] ?? 0) + count;
    rows.set(`${kind} ${name}`, row);
  }
  return [...rows.values()];
}
