// `npm run bench`: builds what is stale, then measures; `-- --only P8,P21` measures these rows only. Exit code 3 when a
// bar is missed.
import { parseArgs } from 'node:util';
import { bootstrap, root } from './bootstrap.js';

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
bootstrap();
const { importBundled } = await import('./bundled.js');
const { bench } = await importBundled('src/bench/run.ts');
process.exit((await bench(root, only?.split(','))) ? 0 : 3);
