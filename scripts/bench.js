// `npm run bench`: builds what is stale, then measures, and keeps the results of a run of all rows, with earlier figures for rows
// that broke; `-- --only P8,P21` measures these rows only and keeps nothing without `--keep`. Exit code 3 when a bar is missed
// or a row broke.
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const { only, keep: keeps } = options(
  'bench',
  'Measures the speed table. All rows take half an hour, on a machine that does nothing else.',
  {
    only: { kind: 'list', says: 'Rows to measure. `svc bench --list` names them.' },
    keep: {
      kind: 'boolean',
      default: false,
      says: 'With --only: put these rows into the kept table, if it is of this machine.',
    },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { bench, isGood } = await importBundled('bench/run.ts');
const { keep, keepRows, keptBefore, refuseOtherMachine } = await importBundled('bench/keep.ts');
const { benchSummary, rowText } = await importBundled('bench/report.ts');

if (only && keeps) refuseOtherMachine(root);
const results = await bench({
  root,
  only,
  before: keptBefore(root),
  started: ({ id, name }) => process.stderr.write(`${id} ${name} …\n`),
  ended: (row) => process.stdout.write(`${rowText(row)}\n`),
});
process.stdout.write(`${benchSummary(results)}\n`);
const broke = results.not_run.some((row) => row.broke);
if (!only && !broke) keep(root, results);
else if (!only || keeps) keepRows(root, results);
process.exit(results.rows.length > 0 && isGood(results) ? 0 : 3);
