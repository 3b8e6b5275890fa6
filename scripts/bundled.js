// Imports a TypeScript file of the package: bundled on the fly, packages left outside.
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import { root } from './bootstrap.js';

/** The module at `entry`, a path below the package root. */
export async function importBundled(entry) {
  const outfile = join(root, '.cache/bundled', basename(entry).replace(/\.ts$/, '.js'));
  // Nothing of it stays: the service behind `build` wakes this process each second, and some of what is imported measures
  // idling.
  buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}
