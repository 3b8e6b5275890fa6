// Builds the package: commands to dist/ (esbuild, shared chunks), `svc/client` to dist/client/, what needs no oclif to
// dist/fast-path/, the guest agent to dist/agent/, and the command manifest, without which oclif would load every command at each start.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildAgent } from './build-agent.js';
import { buildClient } from './build-client.js';
import { buildConsole } from './build-console.js';
import { buildClientPath, buildLintPath } from './build-fast-path.js';
import { BUNDLE } from './bundle.js';
import { configCheck } from './config-check.js';
import { configData } from './config-data.js';
import { lazyRequires } from './lazy-requires.js';

const root = fileURLToPath(new URL('..', import.meta.url));

const commands = readdirSync(join(root, 'commands'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map((name) => `commands/${name}`);

buildAgent(root);
for (const stale of ['bench', 'commands', 'chunks', 'client', 'fast-path', 'src'])
  rmSync(join(root, 'dist', stale), { recursive: true, force: true });
await build({
  ...BUNDLE,
  plugins: [lazyRequires, configCheck, configData],
  absWorkingDir: root,
  entryPoints: [
    ...commands,
    'src/cli/main.ts',
    'src/cli/command-not-found.ts',
    'src/cli/fast-path/serve.ts',
    'src/app/store-thread.ts',
    'bench/admitting.ts',
    'bench/group.child.ts',
  ],
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
});
await Promise.all([buildConsole(root), buildClient(root), buildLintPath(root)]);
execFileSync(process.execPath, [join(root, 'node_modules/oclif/bin/run.js'), 'manifest'], {
  cwd: root,
  env: { ...process.env, OCLIF_SKIP_NEW_VERSION_CHECK: 'true' },
  stdio: ['ignore', 'ignore', 'inherit'],
});
await buildClientPath(root);
