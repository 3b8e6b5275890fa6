// Builds svc-agent into dist/agent/: with the machine's C compiler for this processor, with Debian's cross compiler for
// another one.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const CROSS = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
const PACKAGES = { x64: 'gcc-x86-64-linux-gnu libc6-dev-amd64-cross', arm64: 'gcc-aarch64-linux-gnu' };

/**
 * Builds `dist/agent/svc-agent-<architecture>` when its sources changed; exits with what to install when tools are
 * missing. `architecture` as in `process.arch`.
 */
export function buildAgent(root, architecture = process.arch) {
  const isOwn = architecture === process.arch;
  const cross = isOwn ? [] : [`CC=${CROSS[architecture]}-gcc`, `B=build/${architecture}`];
  const made = spawnSync(
    'make',
    ['-s', '-C', 'agent', ...cross, 'install', `DEST=${join(root, 'dist/agent')}`],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
  if (made.status === 0) return;
  const compiler = isOwn ? 'gcc libc6-dev' : PACKAGES[architecture];
  console.error(`svc: make and a C compiler are needed: apt-get install -y ${compiler} make`);
  process.exit(1);
}
