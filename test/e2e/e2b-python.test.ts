// The newest unmodified Python SDK of E2B against this server, synchronous and asynchronous. The programs beside this file print
// a line for each case that holds.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);

describeWith(['e2b-python', 'bwrap'], 'Python programs for E2B', () => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const program = async (name: string) => {
    const python = join(packageRoot, '.cache/e2b-python/bin/python');
    const address = { E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_API_KEY: 'e2b_0' };
    const env = { PATH: process.env.PATH, NO_PROXY: '127.0.0.1,localhost', ...address };
    const { stdout } = await run(python, [join(packageRoot, 'test/e2e', name)], { env });
    return stdout.trim().split('\n');
  };
  const HELD = [
    'life',
    'commands',
    'processes',
    'terminals',
    'files',
    'git',
    'templates',
    'watches',
    'links',
    'metrics',
    'networks',
    'refusals',
    'ends',
  ];

  it('run with the synchronous SDK', async () => {
    expect(await program('e2b-sync.py')).toEqual(HELD.map((name) => `held ${name}`));
  });

  it('run with the asynchronous SDK', async () => {
    expect(await program('e2b-async.py')).toEqual(HELD.map((name) => `held ${name}`));
  });
});
