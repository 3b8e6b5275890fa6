// P28 of the speed table: what a command costs before it does anything. With NODE_EXTRA_CA_CERTS Node reads certificates
// first, as many companies have it; both sides pay for them.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Pair } from './row.ts';
import { wallTime } from './wall-time.ts';

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const COMMANDS = [
  { name: 'version', args: ['--version'], target: 1.35 },
  { name: 'lint', args: ['config', 'lint', '--file', 'svc.yaml'], target: 3 },
] as const;

/** Measures the package at `root`. */
export function startupPairs(root: string): Pair[] {
  const HOME = join(root, 'nowhere');
  return COMMANDS.flatMap(({ name, args, target }) =>
    [{}, { NODE_EXTRA_CA_CERTS: CERTIFICATES }].map((env) => ({
      id: `P28-${name}${'NODE_EXTRA_CA_CERTS' in env ? '-certificates' : ''}`,
      name: `svc ${args.slice(0, 2).join(' ')}${'NODE_EXTRA_CA_CERTS' in env ? ', with certificates of its own' : ''}`,
      target,
      pairs: 30,
      ours: () => wallTime(root, ['bin/svc.js', ...args], { HOME, ...env }),
      baseline: () => wallTime(root, ['-e', '0'], { HOME, ...env }),
    })),
  );
}

/** A command that asks a server which answers at once. Calls `measure` with it. */
export async function clientPair(root: string, measure: (pair: Pair) => Promise<unknown>): Promise<void> {
  const server = createServer((_, answer) => answer.setHeader('content-type', 'application/json').end('[]'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const HOME = join(root, 'nowhere');
  try {
    await measure({
      id: 'P28-list',
      name: 'svc sandbox list',
      target: 2.5,
      pairs: 30,
      ours: () => wallTime(root, ['bin/svc.js', 'sandbox', 'list', '--server', address], { HOME }),
      baseline: () => wallTime(root, ['-e', '0'], { HOME }),
    });
  } finally {
    server.close();
  }
}
