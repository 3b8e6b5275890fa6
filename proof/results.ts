// proof/results.json: what was tried, how often, and what was found. Committed; docs/reliability.md is made of it.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../src/host/package-root.ts';
import { type Counts, KIND_NAMES, type KindName } from './kinds.ts';

export interface ProofRow {
  name: string;
  /** The day, as ISO 8601 has it. */
  day: string;
  /** Keys are those of the kind. */
  counts: Record<string, number>;
  /** Steps at which nothing was tried, since nothing passed them. */
  not_reached?: readonly string[];
}

export type ProofResults = Record<KindName, ProofRow[]>;

const file = () => join(packageRoot(), 'proof/results.json');

export function readResults(path: string = file()): ProofResults {
  const kept: Partial<ProofResults> = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, kept[kind] ?? []])) as ProofResults;
}

/**
 * Writes a row of a kind, in place of the one of that name: a row describes one run of its command. Rows are in the
 * order of their names. Synchronous from reading to writing, so that a process cannot interrupt itself.
 */
export function record<K extends KindName>(
  kind: K,
  { name, counts, not_reached = [] }: { name: string; counts: Counts<K>; not_reached?: readonly string[] },
  path: string = file(),
): void {
  const results = readResults(path);
  const day = new Date().toISOString().slice(0, 10);
  const row: ProofRow = { name, day, counts, ...(not_reached.length > 0 && { not_reached }) };
  const others = results[kind].filter((one) => one.name !== name);
  const rows = [...others, row].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
  mkdirSync(dirname(path), { recursive: true });
  // A campaign that is killed leaves the old file or the new one.
  writeFileSync(`${path}.new`, `${JSON.stringify({ ...results, [kind]: rows }, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}
