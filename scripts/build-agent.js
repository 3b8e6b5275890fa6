// Builds svc-agent with the machine's C compiler into dist/agent/.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds `dist/agent/svc-agent-<arch>` when its sources changed; exits with what to install when tools are missing. */
export function buildAgent(root) {
  const made = spawnSync('make', ['-s', '-C', 'agent', 'install', `DEST=${join(root, 'dist/agent')}`], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (made.status === 0) return;
  if (made.error)
    console.error('svc: make and a C compiler are needed: apt-get install -y gcc libc6-dev make');
  process.exit(1);
}
