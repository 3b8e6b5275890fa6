// Builds `svc/client` to dist/client/: a bundle of its own, so that a program that uses it loads none of the service, and
// the declarations of the files it is made of.
import { join } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';
import { BUNDLE } from './bundle.js';

const ENTRY = 'src/http/client-package.ts';

/** Throws when a declaration cannot be written. */
export async function buildClient(root) {
  await build({
    ...BUNDLE,
    absWorkingDir: root,
    entryPoints: { client: ENTRY },
    outdir: 'dist/client',
    chunkNames: '[name]-[hash]',
  });
  writeDeclarations(root);
}

/** Types are checked by `npm run types`; here they are only written down. */
function writeDeclarations(root) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [ENTRY] }, ts.sys, root);
  const program = ts.createProgram([join(root, ENTRY)], {
    ...options,
    noEmit: false,
    noCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, 'src'),
    outDir: join(root, 'dist/client/types'),
  });
  const { diagnostics } = program.emit();
  if (diagnostics.length === 0) return;
  const host = {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  };
  throw new Error(ts.formatDiagnostics(diagnostics, host));
}
