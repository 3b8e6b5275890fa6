// Programs of others, unmodified: agent frameworks, tools and command lines from PyPI and npm that use the SDKs of E2B. They need
// neither a model nor the internet (docs/e2b.md).
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
/** A kernel starts, and large packages are loaded, on a machine that is busy. */
const LATER = { timeout: 180_000 };
const folder = join(packageRoot, '.cache/e2b-programs');

describeWith(['e2b-programs', 'ipykernel', 'bwrap'], 'programs of others for E2B', () => {
  let server: TestServer;

  beforeAll(async () => {
    // One of them asks that its sandbox be paused.
    server = await startServer({ env: { SVC_E2B_ON_TIMEOUT: 'end' } });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const lines = async (program: string, args: string[]) => {
    const address = { E2B_API_URL: server.url, E2B_SANDBOX_URL: server.url, E2B_API_KEY: 'e2b_0' };
    const env = { PATH: process.env.PATH, HOME: server.home, NO_PROXY: '127.0.0.1,localhost', ...address };
    const { stdout } = await run(program, args, { env, cwd: server.home });
    return stdout.split('\n').filter((line) => line.startsWith('held '));
  };

  it(
    'run from PyPI: an agent with its code in a sandbox, tools of an agent, an MCP server',
    LATER,
    async () => {
      const program = join(packageRoot, 'test/e2e/e2b-programs.py');
      const held = await lines(join(folder, 'python/bin/python'), [program]);
      expect(held).toEqual(['held smolagents', 'held agno', 'held code-sandbox-mcp']);
    },
  );

  it('run from npm: two frameworks and a command line', LATER, async () => {
    const program = join(packageRoot, 'test/e2e/e2b-programs.mjs');
    const held = await lines(process.execPath, [program, folder]);
    expect(held).toEqual(['held @computesdk/e2b', 'held @mastra/e2b', 'held ez-devbox']);
  });
});
