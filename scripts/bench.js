// `npm run bench`: builds what is stale, then measures. Exit code 3 when a bar is missed.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { bootstrap, root } from './bootstrap.js';

bootstrap();
const bundle = join(root, 'dist/bench.js');
await build({
  absWorkingDir: root,
  entryPoints: ['src/bench/run.ts'],
  outfile: bundle,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  logLevel: 'warning',
});
const { bench } = await import(pathToFileURL(bundle).href);
process.exit((await bench(root)) ? 0 : 3);
