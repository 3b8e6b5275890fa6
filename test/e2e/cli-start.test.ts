// What a command of the client costs before it does anything, and that its own bundle says what oclif says by itself. A colon
// in the name of a command is known to oclif alone.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';

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
    expect(readdirSync(join(packageRoot(), 'dist/fast-path'))).toContain(`${name.replace(' ', '.')}.json`);
    const [ours, oclif] = await Promise.all([
      runCli([...name.split(' '), ...args]),
      runCli([name.replace(' ', ':'), ...args]),
    ]);
    expect(ours).toEqual(oclif);
  },
);

it.each([
  ['--config', '/nonexistent/svc.yaml'],
  ['--host', 'nowhere.invalid', '--port', '7423'],
])('svc serve %s %s fails the same with and without oclif', { timeout: 120_000 }, async (...args) => {
  const [[name, value] = [], ...rest] = [args.slice(0, 2), ...args.slice(2)];
  const [ours, oclif] = await Promise.all([
    runCli(['serve', ...args]),
    runCli(['serve', `${name}=${value}`, ...rest]),
  ]);
  expect(ours.code).not.toBe(0);
  expect(ours).toEqual(oclif);
});

/** Says on exit which files and parts of Node the program loaded, and whether V8 took its code cache. */
const WATCH = `const vm = require('node:vm');
const { Script } = vm;
let rejected;
vm.Script = class extends Script {
  constructor(...args) { super(...args); rejected = this.cachedDataRejected; }
};
process.on('exit', () => {
  const parts = process.moduleLoadList.filter((name) => name.startsWith('NativeModule ')).map((name) => name.slice(13));
  require('node:fs').writeFileSync(process.env.SEEN, JSON.stringify({ files: Object.keys(require.cache), parts, rejected }));
});`;

// What makes a start slow is what is loaded. `npm run bench -- --only P28` measures the time.
it('loads its own bundle, compiled, and no package or large part of Node', () => {
  const folder = temporaryFolder();
  const [watch, seen] = [join(folder, 'watch.cjs'), join(folder, 'seen.json')];
  writeFileSync(watch, WATCH);
  spawnSync(process.execPath, ['-r', watch, cli, 'sandbox', 'list', ...NOWHERE], {
    env: { ...process.env, NODE_OPTIONS: '', SEEN: seen },
  });
  const { files, parts, rejected } = JSON.parse(readFileSync(seen, 'utf8'));
  const own = (files as string[])
    .filter((file) => file !== watch)
    .map((file) => relative(packageRoot(), file));
  expect(own.sort()).toEqual([
    'bin/bundle.js',
    'bin/svc.js',
    'dist/fast-path/sandbox.list.json',
    'package.json',
  ]);
  expect(rejected).toBe(false);
  expect(parts).toContain('net');
  for (const part of [
    'assert',
    'http',
    'perf_hooks',
    'https',
    'crypto',
    'tls',
    'http2',
    'zlib',
    'worker_threads',
    'readline',
  ])
    expect(parts).not.toContain(part);
});

it('has no schemas in the bundle of commands', () => {
  const { sources } = JSON.parse(readFileSync(join(packageRoot(), 'dist/fast-path/client.cjs.map'), 'utf8'));
  const names = (sources as string[]).join('\n');
  expect(names).toContain('undici');
  expect(names).not.toContain('node_modules/typebox/');
});
