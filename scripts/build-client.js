// Builds `svc/client` to dist/client/: a bundle of its own, so that a program that uses it loads none of the service, and
// the declarations of the files it is made of.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE } from './bundle.js';

/** Throws when a declaration cannot be written; types are checked by `npm run types`, here they are only written down. */
export async function buildClient(root) {
  await build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { client: 'src/client/package.ts' },
    outdir: 'dist/client',
    chunkNames: '[name]-[hash]',
  });
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript-native/bin/tsc'), '-p', 'scripts/client-types.json'],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
}
