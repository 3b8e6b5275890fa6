// docs/quick-start.md and README.md, every command as written: each has to succeed and to print what
// stands below it. The server is one on a port of its own; the aliases are programs of those names.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { cli, packageRoot, removeHome, startServer, type TestServer } from '../support/server.ts';

interface Step {
  command: string;
  /** Lines that it prints; anything when none stand there. */
  prints: string[];
}

/** The `$` lines of all console blocks of `text`, in order. */
function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  for (const [, block = ''] of text.matchAll(/```console\n([\s\S]*?)```/g))
    for (const line of block.trimEnd().split('\n')) {
      if (line.startsWith('$ ')) steps.push({ command: line.slice(2), prints: [] });
      else steps.at(-1)?.prints.push(line);
    }
  return steps;
}

const MARK = '--- done';

describeWith(['unshare', 'jq', 'python3'], 'the documents that teach', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-quick-'));
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    mkdirSync(join(folder, 'bin'));
    symlinkSync(cli, join(folder, 'bin/svc'));
    symlinkSync(cli, join(folder, 'bin/svc.js'));
  });
  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    removeFolder(folder);
  });

  /** What each of `steps` printed, all in one shell that ends with the first that fails. */
  async function outputsOf(steps: readonly Step[]): Promise<string[]> {
    const script = ['set -e', ...steps.flatMap(({ command }) => [command, `echo '${MARK}'`])].join('\n');
    const { port } = new URL(server.url);
    const env = {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      HOME: folder,
      SVC_SERVER: server.url,
    };
    const words = ['-c', script.replaceAll('7423', port)];
    const stdout = await new Promise<string>((resolve, reject) => {
      execFile('bash', words, { cwd: folder, env, timeout: 120_000 }, (error, out, err) =>
        error ? reject(new Error(`${out}\n${err}`)) : resolve(out),
      );
    });
    return stdout.split(`${MARK}\n`).slice(0, -1);
  }

  async function follow(steps: readonly Step[]): Promise<void> {
    const outputs = await outputsOf(steps);
    for (const [at, { command, prints }] of steps.entries())
      if (prints.length > 0) expect(outputs[at], command).toBe(`${prints.join('\n')}\n`);
  }

  it('docs/quick-start.md', async () => {
    const steps = stepsOf(readFileSync(join(packageRoot, 'docs/quick-start.md'), 'utf8'));
    expect(steps.length).toBeGreaterThan(15);
    await follow(steps);
  });

  it('README.md', async () => {
    const all = stepsOf(readFileSync(join(packageRoot, 'README.md'), 'utf8'));
    const steps = all.filter(({ command }) => !command.startsWith('npm '));
    expect(steps.length).toBeGreaterThan(8);
    symlinkSync(join(packageRoot, 'README.md'), join(folder, 'README.md'));
    await follow(steps);
  });
});
