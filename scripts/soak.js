// `npm run soak -- --minutes 60 --faults` or `-- --cycles 2000 --provider container`: builds what is stale, then spawns, uses
// and destroys. Exit code 3 when something grew or failed. The figures go to proof/results.json unless `--no-keep`.
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.js';

const { cycles, minutes, faults, keep, provider } = parseArgs({
  options: {
    cycles: { type: 'string', default: '2000' },
    minutes: { type: 'string' },
    faults: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: true },
    provider: { type: 'string', default: 'userspace' },
  },
  allowNegative: true,
}).values;
if (provider !== 'userspace' && provider !== 'container')
  throw new Error('--provider is userspace or container');
bootstrap();
const { importBundled } = await import('./bundled.js');
const { soak } = await importBundled('src/bench/soak.ts');
const { record } = await importBundled('test/support/proof/results.ts');
const told = (sample) => process.stderr.write(`${JSON.stringify(sample)}\n`);
const wanted = { provider, faults, cycles: Number(cycles), told };
const report = await soak(root, { ...wanted, ...(minutes !== undefined && { minutes: Number(minutes) }) });
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
if (keep)
  record('soak', faults ? `${provider}, with faults` : provider, {
    trials: report.cycles,
    grown: report.grown.length,
    failed: report.failed.length,
    minutes: Math.round(report.seconds / 6) / 10,
    ...rounded(report),
  });
process.exit(report.pass ? 0 : 3);

function rounded(more) {
  const facts = [
    'heap_mb_per_1000',
    'resident_mb_per_1000',
    'descriptors',
    'loop_delay_p99_ms',
    'wal_mb',
    'engine_mb',
  ];
  return Object.fromEntries(facts.map((name) => [name, Math.round(more[name] * 100) / 100]));
}
