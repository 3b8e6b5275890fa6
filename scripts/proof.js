// `npm run proof -- --only points --setting userspace --runs 3`: builds what is stale, then breaks what runs and looks at what is
// left, or runs the tests that count for a kind. Exit code 3 when something was found.
import { bootstrap, root } from './bootstrap.js';
import { options } from './options.js';

const KINDS = ['points', 'simulation', 'authorization', 'secrets', 'environment', 'sessions', 'replicas'];
const SETTINGS = ['userspace', 'userspace pool', 'userspace worker', 'container', 'tests'];
const SIDES = ['before', 'after'];

const values = options(
  'proof',
  'Breaks what runs at every step that changes state, and audits what is left.',
  {
    only: { kind: 'list', default: KINDS, of: KINDS, says: 'Kinds of trials.' },
    setting: {
      kind: 'list',
      default: SETTINGS,
      of: SETTINGS,
      says: 'Where faults at steps happen; tests that have steps of their own.',
    },
    side: { kind: 'list', default: SIDES, of: SIDES, says: 'Before or after a step.' },
    long: { kind: 'boolean', default: false, says: 'Freezes and delays of 20 s, and nothing else.' },
    filter: { kind: 'list', says: 'Steps, actions and files of tests whose names have one of these.' },
    runs: {
      kind: 'count',
      default: 1,
      says: 'Rounds of every step and action, of faults on workers, or runs of the tests of a kind.',
    },
    minutes: { kind: 'count', default: 600, says: 'At most, for each setting and side.' },
    seed: { kind: 'count', default: 1, says: 'The same seed makes the same order.' },
    keep: { kind: 'boolean', default: true, says: 'Leave proof/results.json as it is.' },
  },
);
await bootstrap();
const { importBundled } = await import('./bundled.js');
const { prove } = await importBundled('proof/prove.ts');
const { only, setting, side, filter, runs, minutes, seed, keep, long } = values;
const found = await prove(root, {
  kinds: only,
  settings: setting,
  sides: side,
  runs,
  minutes,
  seed,
  keep,
  isLong: long,
  ...(filter && { filters: filter }),
  told: (line) => process.stdout.write(`${line}\n`),
});
process.exit(found === 0 ? 0 : 3);
