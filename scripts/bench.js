// `npm run bench`: builds what is stale, then measures, and keeps the results of a run of all rows; `-- --only P8,P21`
// measures these rows only and keeps nothing. Exit code 3 when a bar is missed.
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const { only } = options(
  'bench',
  'Measures the speed table. All rows take half an hour, on a machine that does nothing else.',
  {
    only: { kind: 'list', says: 'Rows to measure; nothing is kept. `svc bench --list` names them.' },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { bench } = await importBundled('bench/run.ts');
const { keep, keptBefore } = await importBundled('bench/keep.ts');
const { benchSummary, rowText } = await importBundled('bench/report.ts');

const results = await bench({
  root,
  only,
  before: keptBefore(root),
  begun: ({ id, name }) => process.stderr.write(`${id} ${name} …\n`),
  ended: (row) => process.stdout.write(`${rowText(row)}\n`),
});
process.stdout.write(`${benchSummary(results)}\n`);
if (!only) keep(root, results);
process.exit(results.rows.length > 0 && results.rows.every((row) => row.pass) ? 0 : 3);
