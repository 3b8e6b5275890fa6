// Builds `svc/client` to dist/client/: a bundle of its own, so that a program that uses it loads none of the service, and
// the declarations of the files it is made of. The scoped package in clients/typescript is built from the same files.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { BUNDLE } from './bundle.js';
import { writeClientTypes } from './client-types.js';

/** Throws when a declaration cannot be written; types are checked by `npm run types`, here they are only written down. */
export async function buildClient(root) {
  await build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { client: 'src/client/package.ts' },
    outdir: 'dist/client',
    chunkNames: '[name]-[hash]',
  });
  declarations(root, []);
  await buildScoped(root);
}

const SCOPED = 'clients/typescript/dist';

async function buildScoped(root) {
  rmSync(join(root, SCOPED), { recursive: true, force: true });
  await build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { index: 'src/client/scoped-package.ts' },
    outdir: SCOPED,
    chunkNames: '[name]-[hash]',
  });
  const types = join(root, SCOPED, 'types');
  declarations(root, ['--outDir', types]);
  const schemas = readdirSync(join(types, 'schema')).map((name) => name.replace(/\.d\.ts$/, ''));
  await writeClientTypes(root, types, schemas);
}

/** Writes the declarations of both packages. */
function declarations(root, options) {
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript-native/bin/tsc'), '-p', 'scripts/client-types.json', ...options],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
}
