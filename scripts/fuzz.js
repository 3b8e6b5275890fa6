// `npm run fuzz -- --only routes,wire --minutes 5 --seed 7`: builds what is stale, then throws seeded cases at each target,
// `--runs` of them unless `--minutes` is given. Exit code 3 when a target misbehaved. Counts of a run by time go to
// proof/results.json unless `--no-keep`.
import { parseArgs } from 'node:util';
import { bootstrap } from './bootstrap.js';

const { only, seed, runs, minutes, keep } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '2000' },
    minutes: { type: 'string' },
    keep: { type: 'boolean', default: true },
  },
  allowNegative: true,
}).values;
bootstrap();
const { importBundled } = await import('./bundled.js');
const { counted, fuzz } = await importBundled('test/support/fuzz/fuzz.ts');
const { record } = await importBundled('test/support/proof/results.ts');
const reports = await fuzz({
  only: only === '' ? [] : only.split(','),
  ...{ seed: Number(seed), runs: Number(runs) },
  ...(minutes !== undefined && { minutes: Number(minutes) }),
  told: (target, { seed: at, said }) => process.stderr.write(`${target} --seed ${at}: ${said}\n`),
});
process.stdout.write(`${JSON.stringify(reports, undefined, 2)}\n`);
if (keep && minutes !== undefined)
  for (const report of reports) record('fuzz', report.target, counted(report));
process.exit(reports.some(({ faults }) => faults.length > 0) ? 3 : 0);
