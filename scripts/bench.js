// `npm run bench`: builds what is stale, then measures, and keeps the results of a run of all rows; `-- --only P8,P21`
// measures these rows only and keeps nothing without `--keep`. Exit code 3 when a bar is missed.
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
const { bench } = await importBundled('bench/run.ts');
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
if (!only) keep(root, results);
else if (keeps) keepRows(root, results);
process.exit(results.rows.length > 0 && results.rows.every((row) => row.pass) ? 0 : 3);
