// `npm run soak -- --cycles 2000 --provider userspace`: builds what is stale, then cycles. Exit code 3 when something grew.
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.js';

const { cycles, provider } = parseArgs({
  options: {
    cycles: { type: 'string', default: '2000' },
    provider: { type: 'string', default: 'userspace' },
  },
}).values;
if (provider !== 'userspace' && provider !== 'container')
  throw new Error('--provider is userspace or container');
bootstrap();
const { importBundled } = await import('./bundled.js');
const { soak } = await importBundled('src/bench/soak.ts');
const told = (sample) => process.stderr.write(`${JSON.stringify(sample)}\n`);
const report = await soak(root, { provider, cycles: Number(cycles), told });
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
process.exit(report.pass ? 0 : 3);
