// `npm run proof -- --only points --setting userspace --runs 3`: builds what is stale, then breaks what runs and looks at what is
// left, or runs the tests that count for a kind. Exit code 3 when something was found.
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'points,simulation,authorization,secrets,environment' },
    side: { type: 'string', default: 'before,after' },
    setting: { type: 'string', default: 'userspace,userspace pool,container' },
    runs: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    filter: { type: 'string' },
    keep: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
bootstrap();
const { importBundled } = await import('./bundled.js');
const { prove } = await importBundled('test/support/proof/prove.ts');
const found = await prove(root, {
  keep: values.keep,
  ...(values.filter && { filters: values.filter.split(',') }),
  kinds: values.only.split(','),
  sides: values.side.split(','),
  settings: values.setting.split(','),
  runs: Number(values.runs),
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  told: (line) => process.stdout.write(`${line}\n`),
});
process.exit(found === 0 ? 0 : 3);
