// The results that belong to the source: bench/results.json, and docs/performance.md made of it. Only a run of all rows is
// kept: a table is only worth keeping when one machine made all of it.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Before, readBefore } from './compare.ts';
import { markdown, type Results } from './report.ts';

/** The run before this one; undefined when there was none. */
export function keptBefore(root: string): Before | undefined {
  const file = join(root, 'bench/results.json');
  return existsSync(file) ? readBefore(file) : undefined;
}

export function keep(root: string, results: Results): void {
  mkdirSync(join(root, 'bench'), { recursive: true });
  writeFileSync(join(root, 'bench/results.json'), `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(join(root, 'docs/performance.md'), markdown(results));
}
