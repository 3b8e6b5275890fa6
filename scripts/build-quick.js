// Bundles what bin/svc.js runs without oclif into one file, as small as it gets. CommonJS: an import of `node:fs` makes Node
// load all that it can hand out, streams too.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE } from './bundle.js';
import { configCheck } from './config-check.js';
import { configData } from './config-data.js';

const yaml = dirname(createRequire(import.meta.url).resolve('yaml/package.json'));

/** Writes dist/quick/main.cjs of the package at `root`. */
export async function buildQuick(root) {
  await build({
    ...BUNDLE,
    plugins: [configCheck, configData],
    absWorkingDir: root,
    entryPoints: ['src/quick/main.ts'],
    outfile: 'dist/quick/main.cjs',
    // The same code as modules: only those can be left out that nothing calls.
    alias: { yaml: join(yaml, 'browser/dist/index.js') },
    format: 'cjs',
    splitting: false,
    minifyIdentifiers: true,
    banner: {},
  });
}
