// Ctrl-C on a terminal in the middle of a bench: it reaches the whole process group, and nothing is left.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { agents } from '../support/checks/auditor.ts';
import { endRuntimes } from '../support/checks/leftovers.ts';
import { describeWith } from '../support/requires.ts';
import { cli, instanceOf } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

describeWith(['root', 'unshare'], 'an interrupted bench', () => {
  it('ends its sandboxes and its servers', async () => {
    const folder = temporaryFolder();
    const bench = spawn(process.execPath, [cli, 'bench', '--only', 'P21-unshare'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: 'ignore',
      detached: true,
    });
    onTestFinished(() => void bench.kill('SIGKILL'));
    const ended = once(bench, 'exit');
    const instance = await until('the server of the bench', () => instanceBelow(folder), 60_000);
    onTestFinished(() => endRuntimes(instance));
    await until('a sandbox of the bench', () => agents([instance]).length === 1, 60_000);
    process.kill(-(bench.pid ?? 0), 'SIGINT');
    expect((await ended)[0]).toBe(130);
    expect([agents([instance]), readdirSync(folder)]).toEqual([[], []]);
    expect(existsSync(`/run/svc/${instance}`)).toBe(false);
  }, 150_000);
});

/** As run folders carry it; the log of a server names it when its database opens. */
function instanceBelow(folder: string): string | undefined {
  const logs = readdirSync(folder)
    .map((name) => join(folder, name, 'log'))
    .filter((path) => existsSync(path));
  const text = logs.map((path) => readFileSync(path, 'utf8')).join('');
  return instanceOf(text);
}
