// The results that belong to the source: bench/results.json, and docs/performance.md and a table of README.md made of it. One machine makes all of it:
// rows of a later run replace theirs only if that run was on the same machine.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../src/domain/errors.ts';
import { type Before, readBefore } from './compare.ts';
import { GROUPS } from './groups.ts';
import { inReadme } from './readme-table.ts';
import { hostFacts, markdown, type Results } from './report.ts';

const fileIn = (root: string) => join(root, 'bench/results.json');

/** The run before this one; undefined when there was none. */
export function keptBefore(root: string): Before | undefined {
  return existsSync(fileIn(root)) ? readBefore(fileIn(root)) : undefined;
}

/** Keeps a run of all rows. */
export function keep(root: string, results: Results): void {
  mkdirSync(join(root, 'bench'), { recursive: true });
  writeFileSync(fileIn(root), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(root, 'docs/performance.md'), markdown(results));
  const readme = join(root, 'README.md');
  if (existsSync(readme)) writeFileSync(readme, inReadme(readFileSync(readme, 'utf8'), results));
}

/** Throws `conflict` if the kept table was measured on another machine. Call it before measuring, too. */
export function refuseOtherMachine(root: string): void {
  keptHere(root);
}

/** Puts the rows of a run of some rows into the kept table, each with the time of its run. */
export function keepRows(root: string, { rows, not_run, started_at }: Results): void {
  const kept = keptHere(root);
  const measured = new Set(rows.map(({ id }) => id));
  const all = [
    ...kept.rows.filter(({ id }) => !measured.has(id)),
    ...rows.map((row) => ({ ...row, started_at })),
  ];
  const missing = [...kept.not_run.filter(({ id }) => !not_run.some((other) => other.id === id)), ...not_run];
  const order = GROUPS.flatMap(({ ids }) => ids);
  keep(root, {
    ...kept,
    rows: all.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id)),
    not_run: missing.filter(({ id }) => !all.some((row) => row.id === id)),
  });
}

function keptHere(root: string): Results {
  const kept = existsSync(fileIn(root))
    ? (JSON.parse(readFileSync(fileIn(root), 'utf8')) as Results)
    : undefined;
  const here = hostFacts();
  const differing = Object.keys(here).find((fact) => fact !== 'load_1m' && kept?.host[fact] !== here[fact]);
  if (kept && differing === undefined) return kept;
  const message = kept
    ? `The kept table was measured with ${differing} ${kept.host[differing ?? '']}; here it is ${here[differing ?? '']}.`
    : 'No table is kept.';
  throw new ServiceError('conflict', message, { remedy: 'Measure all rows: npm run bench.' });
}
