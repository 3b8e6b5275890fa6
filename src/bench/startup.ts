// P28 of the speed table: what a command costs before it does anything. With NODE_EXTRA_CA_CERTS Node reads certificates
// first, as many companies have it; both sides pay for them.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Pair } from './row.ts';

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const COMMANDS = [
  { name: 'version', args: ['--version'], target: 1.35 },
  { name: 'lint', args: ['config', 'lint', '--file', 'svc.yaml'], target: 3 },
] as const;

/** With the package at `root`. */
export function startupPairs(root: string): Pair[] {
  return COMMANDS.flatMap(({ name, args, target }) =>
    [{}, { NODE_EXTRA_CA_CERTS: CERTIFICATES }].map((env) => ({
      id: `P28-${name}${'NODE_EXTRA_CA_CERTS' in env ? '-certificates' : ''}`,
      name: `svc ${args.slice(0, 2).join(' ')}${'NODE_EXTRA_CA_CERTS' in env ? ', with certificates of its own' : ''}`,
      target,
      pairs: 30,
      ours: () => wallTime(root, ['bin/svc.js', ...args], env),
      baseline: () => wallTime(root, ['-e', '0'], env),
    })),
  );
}

/** ms from the start of Node to its end. Rejects when it fails. */
function wallTime(root: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: join(root, 'nowhere'), ...env },
    stdio: 'ignore',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0
        ? resolve(performance.now() - began)
        : reject(new Error(`${args.join(' ')}: exit code ${code}`)),
    );
  });
}
