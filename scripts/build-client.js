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
  await Promise.all([buildBun(root), buildBrowser(root)]);
  const types = join(root, SCOPED, 'types');
  declarations(root, ['--outDir', types]);
  const schemas = readdirSync(join(types, 'schema')).map((name) => name.replace(/\.d\.ts$/, ''));
  await writeClientTypes(root, types, schemas);
}

const FETCH_AGENT = './src/client/web/fetch-agent.ts';

/** Bun has a module `undici` of its own, which lacks what the client uses. */
function buildBun(root) {
  return build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { index: 'src/client/scoped-package.ts' },
    outdir: join(SCOPED, 'bun'),
    alias: { undici: FETCH_AGENT },
    chunkNames: '[name]-[hash]',
  });
}

/** One file that needs no other package and nothing of Node. */
function buildBrowser(root) {
  const node = './src/client/web/node.ts';
  return build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { index: 'src/client/scoped-package.ts' },
    outdir: join(SCOPED, 'browser'),
    platform: 'browser',
    target: 'es2022',
    splitting: false,
    external: [],
    banner: {},
    inject: [node],
    alias: {
      undici: FETCH_AGENT,
      ws: './src/client/web/no-socket.ts',
      'node:stream': 'readable-stream',
      'node:events': 'events',
      'node:buffer': node,
      'node:os': node,
      'node:timers/promises': node,
    },
  });
}

/** Writes the declarations of both packages. */
function declarations(root, options) {
  execFileSync(
    process.execPath,
    [join(root, 'node_modules/typescript-native/bin/tsc'), '-p', 'scripts/client-types.json', ...options],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
}
