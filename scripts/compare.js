// `npm run compare -- --before FOLDER`: whether rows of the speed table became slower. FOLDER is a built checkout of another
// commit, with its packages. Exit code 3 when a row did. Rows are in .cache/compare.json as they end.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const FOUND_SLOWER = 3;
/** As a shell reports a program that SIGINT ended. */
const STOPPED = 130;

const { before, only, results } = options(
  'compare',
  'Measures rows of the speed table of two commits in turn. All rows take as long as the table itself.',
  {
    before: { kind: 'text', says: 'Folder of the other commit, built.' },
    only: { kind: 'list', says: 'Rows to compare; all by default. `svc bench --list` names them.' },
    results: {
      kind: 'text',
      default: '.cache/compare.json',
      says: 'File for the rows, written as they end.',
    },
  },
);
if (!before) {
  process.stderr.write('--before names the folder of the other commit.\n');
  process.exit(2);
}
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { compareRows, comparedText, isSlower } = await importBundled('bench/side-by-side.ts');
const { GROUPS, refuseUnknown } = await importBundled('bench/run.ts');
const other = await import(pathToFileURL(join(resolve(before), 'scripts/bundled.js')).href);
const { GROUPS: groupsBefore } = await other.importBundled('bench/groups.ts');

refuseUnknown(only, GROUPS);
const file = resolve(root, results);
/** @type {object[]} */
const ended = [];
// Ctrl-C on a terminal reaches the entire process group, so the worlds of both commits are cleared away at the end of a pair.
const stopped = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'])
  process.on(name, () => stopped.abort(new Error('the comparison was stopped')));
const { rows, failures } = await compareRows({
  root,
  before: resolve(before),
  groups: GROUPS,
  groupsBefore,
  only,
  signal: stopped.signal,
  started: (/** @type {string} */ id) => process.stderr.write(`${id} …\n`),
  ended: (/** @type {object} */ row) => {
    ended.push(row);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify({ before, rows: ended }, null, 2)}\n`);
    process.stdout.write(`${comparedText(row)}\n`);
  },
}).catch((/** @type {unknown} */ error) => {
  if (!stopped.signal.aborted) throw error;
  process.stderr.write(`Stopped. Rows that have ended are in ${results}.\n`);
  process.exit(STOPPED);
});
for (const { id, reason } of failures) process.stdout.write(`${id}: not compared: ${reason}\n`);
process.stdout.write(`${rows.length} rows compared, ${rows.filter(isSlower).length} slower.\n`);
process.exit(rows.some(isSlower) ? FOUND_SLOWER : 0);
