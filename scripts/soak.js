// `npm run soak -- --minutes 60 --faults` or `-- --cycles 2000 --provider container`: builds what is stale, then spawns, uses
// and destroys. Exit code 3 when something grew or failed. The figures go to proof/results.json unless `--no-keep`.
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const { cycles, minutes, faults, keep, provider } = options(
  'soak',
  'Spawns, uses and destroys sandboxes in one server, and looks whether anything grew.',
  {
    minutes: { kind: 'count', says: 'How long, whatever the number of cycles.' },
    cycles: { kind: 'count', default: 2000, says: 'Lives of sandboxes.' },
    faults: { kind: 'boolean', default: false, says: 'Clients, runtimes, server and engine fail at random.' },
    provider: {
      ...{ kind: 'text', default: 'userspace', of: ['userspace', 'container'] },
      says: 'What the sandboxes are.',
    },
    keep: { kind: 'boolean', default: true, says: 'Leave proof/results.json as it is.' },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { soak } = await importBundled('bench/soak.ts');
const { record } = await importBundled('proof/results.ts');
const onSample = (sample) => process.stderr.write(`${JSON.stringify(sample)}\n`);
const report = await soak(root, {
  provider,
  faults,
  cycles,
  onSample,
  ...(minutes !== undefined && { minutes }),
});
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
if (keep)
  record('soak', {
    name: faults ? `${provider}, with faults` : provider,
    counts: {
      trials: report.cycles,
      grown: report.grown.length,
      failed: report.failed.length,
      minutes: Math.round(report.seconds / 6) / 10,
      ...rounded(report),
    },
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
