// How a test tells what it has tried: one line in the file that SVC_TEST_TALLY names, which `npm run proof` and others add
// up. Without it nothing is written, so that a test tells always and knows nothing of who listens.
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

/** What was told in `file`, lines of the same row added up. */
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
