// `npm run bench`: builds what is stale, then measures, and keeps the results of a run of all rows, with earlier figures for rows
// that broke; `-- --only P8,P21` measures these rows only and keeps nothing without `--keep`. Rows are in .cache/bench.json as they end, and
// `-- --continue` continues a run of the same build that was ended. Exit code 3 when a bar is missed or a row broke.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const {
  only,
  keep: keeps,
  continue: continues,
} = options(
  'bench',
  'Measures the speed table. All rows take half an hour, on a machine that does nothing else.',
  {
    only: { kind: 'list', says: 'Rows to measure. `svc bench --list` names them.' },
    keep: {
      kind: 'boolean',
      default: false,
      says: 'With --only: put these rows into the kept table, if it is of this machine.',
    },
    continue: {
      kind: 'boolean',
      default: false,
      says: 'Take the rows that the last run of this build measured, and measure the others.',
    },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { bench, isGood } = await importBundled('bench/run.ts');
const { keep, keepRows, keptBefore, refuseOtherMachine } = await importBundled('bench/keep.ts');
const { benchSummary, rowText } = await importBundled('bench/report.ts');

if (only && keeps) refuseOtherMachine(root);
const FILE = join(root, '.cache/bench.json');
const build = readFileSync(join(root, 'dist/.svc-sources'), 'utf8');
const rows = continues ? earlierRows() : [];
const results = await bench({
  root,
  only,
  before: keptBefore(root),
  done: [...rows],
  started: ({ id, name }) => process.stderr.write(`${id} ${name} …\n`),
  ended: (row) => {
    rows.push(row);
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, `${JSON.stringify({ build, rows }, null, 2)}\n`);
    process.stdout.write(`${rowText(row)}\n`);
  },
});
process.stdout.write(`${benchSummary(results)}\n`);
const broke = results.not_run.some((row) => row.broke);
if (!only && !broke) keep(root, results);
else if (!only || keeps) keepRows(root, results);
process.exit(results.rows.length > 0 && isGood(results) ? 0 : 3);

function earlierRows() {
  if (!existsSync(FILE)) return [];
  const earlier = JSON.parse(readFileSync(FILE, 'utf8'));
  return earlier.build === build ? earlier.rows : [];
}
