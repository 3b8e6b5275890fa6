// `npm run bench`: measures the speed table against servers of its own and writes the results. `--only P8,P21` measures
// these rows and writes nothing: a table is only worth keeping when one machine made all of it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sweep } from './folders.ts';
import { GROUPS } from './groups.ts';
import { hostFacts, markdown, type Results, textTable } from './report.ts';
import { measurePair, type Pair } from './row.ts';

/** Measures all rows, or those of `only`, with the package at `root`; true when every bar is met. */
export async function bench(root: string, only?: readonly string[]): Promise<boolean> {
  await sweep();
  const results: Results = { host: hostFacts(), started_at: new Date().toISOString(), rows: [] };
  const isWanted = (id: string) => !only || only.some((name) => id === name || id.startsWith(`${name}-`));
  const measure = async (pair: Pair) => {
    if (!isWanted(pair.id)) return;
    process.stderr.write(`${pair.id} ${pair.name} …\n`);
    results.rows.push(await measurePair(pair, seeded(7423)));
  };
  for (const group of GROUPS) if (group.ids.some(isWanted)) await group.run(root, measure);
  process.stdout.write(`${textTable(results.rows)}\n`);
  if (!only) keep(root, results);
  return results.rows.length > 0 && results.rows.every((row) => row.pass);
}

function keep(root: string, results: Results): void {
  mkdirSync(join(root, 'bench'), { recursive: true });
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(root, 'docs/performance.md'), markdown(results));
}

/** A small generator with a fixed seed (mulberry32), so that intervals do not change between prints. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
