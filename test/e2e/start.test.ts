// `npm start` as a newcomer runs it: on a terminal, without an engine, stopped by Ctrl-C.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { endRuntimes } from '../support/checks/leftovers.ts';
import { freePort } from '../support/free-port.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { packageRoot } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['tmux', 'unshare'], 'npm start', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-start-'));
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', join(home, 'tmux'), '-f', '/dev/null', ...args], { encoding: 'utf8' });
  afterAll(() => {
    removeFolder(home);
  });

  it('shows one sandbox, names the data folder, and exits with 0 on one Ctrl-C', async () => {
    const screen = await started(`SVC_DATABASE_PATH=${home}/svc.db`);
    expect(screen).toContain(`Data is stored in ${home}.`);
    expect(screen).toMatch(/DELETE \/sandboxes\/\{id\} +\d+ ms +destroyed/);
    // No engine runs at that socket, and nothing needs one: neither a warning nor a stack.
    expect(screen).not.toMatch(/\bwarn .*provider|container engine|\n\s+at /);
    endRuntimes(instanceOf(join(home, 'svc.db')));
  });

  itWith(
    ['root'],
    'keeps data of root in its home, and says before it serves what else it writes to',
    async () => {
      const screen = await started();
      const [before = '', after = ''] = screen.split('Serving on');
      expect(before).toContain('Running as root: sandboxes keep their sockets in /run/svc');
      expect(after).toContain(`Data is stored in ${home}/.svc.`);
      endRuntimes(instanceOf(join(home, '.svc/svc.db')));
    },
  );

  /** What stands on the screen of a start that was ended by one Ctrl-C. */
  async function started(more = ''): Promise<string> {
    const port = await freePort();
    const env = `${more} XDG_RUNTIME_DIR=${home} SVC_SERVER_PORT=${port} HOME=${home} SVC_PROVIDERS_USERSPACE_RUNNER=unshare SVC_PROVIDERS_CONTAINER_SOCKET=${home}/none.sock`;
    rmSync(join(home, 'status'), { force: true });
    tmux('new-session', '-d', '-x', '160', '-y', '50', '-c', packageRoot, 'sh');
    try {
      tmux('send-keys', `env ${env} npm start; echo "status $?" > ${home}/status`, 'Enter');
      const screen = () => tmux('capture-pane', '-p', '-S', '-200');
      await until('the demonstration', () => screen().includes('Ctrl-C stops the server'), 60_000);
      const shown = screen();
      tmux('send-keys', 'C-c');
      await until('the shell to go on', () => statusIn(home) !== undefined, 30_000);
      expect(statusIn(home)).toBe('status 0\n');
      return shown;
    } finally {
      tmux('kill-server');
    }
  }
});

function instanceOf(database: string): string {
  const words = [join(packageRoot, 'bin/svc.js'), 'db', 'inspect', database, '--json'];
  const { instance } = JSON.parse(execFileSync(process.execPath, words, { encoding: 'utf8' })) as {
    instance: string;
  };
  return instance.replaceAll('-', '').slice(0, 12);
}

function statusIn(home: string): string | undefined {
  try {
    return readFileSync(join(home, 'status'), 'utf8');
  } catch {
    return undefined;
  }
}
