// `npm run fuzz -- --only routes,wire --minutes 5 --seed 7`: builds what is stale, then throws seeded cases at each target,
// `--runs` of them unless `--minutes` is given. Exit code 3 when a target misbehaved. Counts of a run by time go to
// proof/results.json unless `--no-keep`.
import { bootstrap } from './bootstrap.js';
import { options } from './options.js';

const { only, seed, runs, minutes, keep } = options(
  'fuzz',
  'Sends generated input to every reader of input.',
  {
    only: { kind: 'list', default: [], says: 'Targets; an unknown name prints the list of targets.' },
    runs: { kind: 'count', default: 2000, says: 'Cases for each target; nothing is kept.' },
    minutes: { kind: 'count', says: 'Time for each target instead of a number of cases.' },
    seed: { kind: 'count', default: 1, says: 'The same seed makes the same cases.' },
    keep: { kind: 'boolean', default: true, says: 'Leave proof/results.json as it is.' },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { counted, fuzz } = await importBundled('proof/fuzz/fuzz.ts');
const { record } = await importBundled('proof/results.ts');
const reports = await fuzz({
  only,
  seed,
  runs,
  ...(minutes !== undefined && { minutes }),
  told: (target, { seed: at, said }) => process.stderr.write(`${target} --seed ${at}: ${said}\n`),
});
process.stdout.write(`${JSON.stringify(reports, undefined, 2)}\n`);
if (keep && minutes !== undefined)
  for (const report of reports) record('fuzz', { name: report.target, counts: counted(report) });
process.exit(reports.some(({ faults }) => faults.length > 0) ? 3 : 0);
