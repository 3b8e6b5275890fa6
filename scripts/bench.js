// `npm run bench`: builds what is stale, then measures. Exit code 3 when a bar is missed.
import { bootstrap, root } from './bootstrap.js';

bootstrap();
const { importBundled } = await import('./bundled.js');
const { bench } = await importBundled('src/bench/run.ts');
process.exit((await bench(root)) ? 0 : 3);
