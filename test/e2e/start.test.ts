// `npm start` as a newcomer runs it: on a terminal, without an engine, stopped by Ctrl-C.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { endRuntimes } from '../support/leftovers.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { packageRoot } from '../support/server.ts';
import { until } from '../support/until.ts';

describeWith(['tmux', 'unshare'], 'npm start', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', join(home, 'tmux'), '-f', '/dev/null', ...args], { encoding: 'utf8' });
  afterAll(() => {
    removeFolder(home);
  });

  it('shows one sandbox, says where data is stored, and exits with 0 on one Ctrl-C', async () => {
    const port = await freePort();
    const env = `SVC_DATABASE_PATH=${home}/svc.db XDG_RUNTIME_DIR=${home} SVC_SERVER_PORT=${port} HOME=${home} SVC_PROVIDERS_USERSPACE_RUNNER=unshare SVC_PROVIDERS_CONTAINER_SOCKET=${home}/none.sock`;
    tmux('new-session', '-d', '-x', '160', '-y', '50', '-c', packageRoot, 'sh');
    try {
      tmux('send-keys', `env ${env} npm start; echo "status $?" > ${home}/status`, 'Enter');
      const screen = () => tmux('capture-pane', '-p', '-S', '-200');
      await until('the demonstration', () => screen().includes('Ctrl-C stops the server'), 60_000);
      expect(screen()).toContain(`Data is stored in ${home}.`);
      expect(screen()).toMatch(/DELETE \/sandboxes\/\{id\} +\d+ ms +destroyed/);
      // No engine runs at that socket, and nothing needs one: neither a warning nor a stack.
      expect(screen()).not.toMatch(/\bwarn .*provider|container engine|\n\s+at /);
      tmux('send-keys', 'C-c');
      await until('the shell to go on', () => statusIn(home) !== undefined, 30_000);
      expect(statusIn(home)).toBe('status 0\n');
    } finally {
      tmux('kill-server');
      const { instance } = JSON.parse(
        execFileSync(
          process.execPath,
          [join(packageRoot, 'bin/svc.js'), 'db', 'inspect', join(home, 'svc.db'), '--json'],
          {
            encoding: 'utf8',
          },
        ),
      ) as { instance: string };
      endRuntimes(instance.replaceAll('-', '').slice(0, 12));
    }
  });
});

function statusIn(home: string): string | undefined {
  try {
    return readFileSync(join(home, 'status'), 'utf8');
  } catch {
    return undefined;
  }
}
