// What a command of the client costs before it does anything, and that its own bundle says what oclif says by itself. A colon
// in the name of a command is known to oclif alone.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli } from '../support/servers/server.ts';

const NOWHERE = ['--server', 'http://127.0.0.1:1'];

const CALLS: readonly (readonly [string, ...string[]])[] = [
  ['sandbox list', ...NOWHERE],
  ['sandbox list', ...NOWHERE, '--json'],
  ['sandbox list', '--help'],
  ['sandbox list', '--state', 'asleep'],
  ['sandbox list', '--limit', 'many'],
  ['sandbox cat', 'sb_1'],
  ['sandbox get'],
  ['sandbox get', 'sb_1', ...NOWHERE],
  ['sandbox run', '--help'],
  ['sandbox run', '--', 'true'],
  ['sandbox exec', 'sb_1', '--timeout', '5s', ...NOWHERE, '--', 'ls', '-l'],
  ['sandbox exec', 'sb_1', '-i', ...NOWHERE, '--', 'ls', '-l'],
  ['sandbox cp', '/nonexistent', 'sb_1:/x', ...NOWHERE],
  ['template create', 'web', '--help'],
  ['quota set', '--nothing'],
  ['worker drain', 'w1', ...NOWHERE],
];

it.each(CALLS)(
  'svc %s prints the same with and without the fast path',
  { timeout: 120_000 },
  async (name, ...args) => {
    const names = JSON.parse(readFileSync(join(packageRoot(), 'dist/fast-path/client.json'), 'utf8'));
    expect(names).toContain(name);
    const [ours, oclif] = await Promise.all([
      runCli([...name.split(' '), ...args]),
      runCli([name.replace(' ', ':'), ...args]),
    ]);
    expect(ours).toEqual(oclif);
  },
);

/** Seconds of processor, the least of a few goes: what else the machine does only adds to it. */
function leastSeconds(args: readonly string[]): number {
  const words = [
    '-c',
    'TIMEFORMAT="%U %S"; { time "$@" >/dev/null 2>&1; } 2>&1',
    'bash',
    process.execPath,
    ...args,
  ];
  const goes = Array.from({ length: 15 }, () => {
    const { stdout } = spawnSync('bash', words, { encoding: 'utf8' });
    const [user = 0, system = 0] = stdout.trim().split(' ').map(Number);
    return user + system;
  });
  return Math.min(...goes);
}

const SERVER = `require('node:http')
  .createServer((_, answer) => answer.setHeader('content-type', 'application/json').end('[]'))
  .listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

it('starts in less than two and a half times the time of Node alone', { timeout: 120_000 }, async () => {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill());
  const [port] = await once(server.stdout, 'data');
  const answered = ['--server', `http://127.0.0.1:${String(port).trim()}`];
  const node = leastSeconds(['-e', '0']);
  for (const where of [NOWHERE, answered])
    expect(leastSeconds([cli, 'sandbox', 'list', ...where]) / node).toBeLessThan(2.5);
});
