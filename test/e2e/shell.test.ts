// A terminal in a sandbox as a person has it: under tmux, which types the keys and reads the screen.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import {
  everywhere,
  inMachine,
  inMachineOnWorker,
  onWorkers,
  type Runtime,
} from '../support/hosts/matrix.ts';
import { removeFolder } from '../support/remove.ts';
import { type Api, api } from '../support/servers/api.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const shell = ({ env, ordinaryUser, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Api;
  let id: string;
  let folder: string;
  // One that is ending still takes calls, and fails them.
  let session = 0;
  const socket = () => join(folder, `tmux-${session}`);
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-S', socket(), '-f', '/dev/null', ...args], { encoding: 'utf8' });
  const screen = () => tmux('capture-pane', '-p');
  const type = (...keys: string[]) => tmux('send-keys', ...keys);
  const shows = (what: string | RegExp) =>
    until(`the screen to show ${what}`, () =>
      typeof what === 'string' ? screen().includes(what) : what.test(screen()),
    );
  const open = (...words: string[]) => {
    const shell = [process.execPath, cli, 'sandbox', 'shell', id, ...words].join(' ');
    tmux(
      'new-session',
      '-d',
      '-x',
      '80',
      '-y',
      '24',
      `SVC_SERVER=${server.url} ${shell}; echo code=$?; sleep 1000`,
    );
  };

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser, onWorker });
    client = api(server.url);
    id = (await client.spawn()).id;
    folder = mkdtempSync(join(tmpdir(), 'svc-tmux-'));
  });
  afterEach(() => {
    spawnSync('tmux', ['-S', socket(), 'kill-server']);
    session += 1;
  });
  afterAll(async () => {
    try {
      await client.destroy(id);
      expect(remains(server, [id])).toEqual(NOTHING);
    } finally {
      await server.stop();
      removeHome(server.home);
      removeFolder(folder);
    }
  });

  it('passes keys and output, interrupts, resizes, and ends with the status of the shell', async () => {
    open();
    await shows(/[$#] ?$/m);
    type('stty size; echo "<$TERM>"; tty', 'Enter');
    await shows('24 80');
    await shows('/dev/pts/');
    // A key that comes before the shell waits for its command would interrupt the shell.
    type("sh -c 'echo u''p; sleep 1000'", 'Enter');
    await shows(/^up$/m);
    type('C-c', '');
    type('echo still $((40+2))', 'Enter');
    await shows('still 42');
    tmux('resize-window', '-x', '101', '-y', '33');
    await until('the new size', () => {
      type('clear; stty size', 'Enter');
      return screen().includes('33 101');
    });
    type('exit 7', 'Enter');
    await shows('code=7');
  });

  it('runs an editor that fills the screen', async () => {
    open('--', 'vim.tiny', '-u', 'NONE', '/workspace/note');
    await shows('note" [New');
    tmux('resize-window', '-x', '60', '-y', '12');
    type('ihello from the editor', 'Escape');
    // The news of the new size takes its time to reach the program.
    await until('the editor to know its size', () => {
      type(':set lines?', 'Enter');
      return screen().includes('lines=12');
    });
    type(':wq', 'Enter');
    await shows('code=0');
    expect((await client.sh(id, 'cat /workspace/note')).stdout).toBe('hello from the editor\n');
  });

  it('restores the terminal when the sandbox ends', async () => {
    const other = (await client.spawn()).id;
    const before = id;
    id = other;
    open();
    id = before;
    await shows(/[$#] ?$/m);
    await client.destroy(other);
    await shows('code=125');
    expect(screen()).toMatch(/Error: /);
    expect(remains({ home: 'of no server' }, [other])).toEqual(NOTHING);
  });

  describe('exec with standard input', () => {
    const svc = (input: Buffer | string, ...args: string[]) =>
      spawnSync(process.execPath, [cli, 'sandbox', 'exec', id, '-i', ...args], {
        input,
        env: { ...process.env, SVC_SERVER: server.url },
        maxBuffer: 64 * 1024 * 1024,
      });

    it('passes bytes both ways and returns the status', () => {
      const bytes = randomBytes(3 * 1024 * 1024 + 1);
      const run = svc(bytes, '--', 'sh', '-c', 'cat; echo done >&2; exit 3');
      expect([run.status, run.stderr.toString()]).toEqual([3, 'done\n']);
      const digest = (data: Buffer) => createHash('sha256').update(data).digest('hex');
      expect(digest(run.stdout)).toBe(digest(bytes));
    });

    it('ends when the command does, whatever input is left', () => {
      const run = svc(Buffer.alloc(8 * 1024 * 1024, 'line\n'), '--', 'head', '-n', '1');
      expect([run.status, run.stdout.toString()]).toEqual([0, 'line\n']);
      expect(svc('x', '--json', '--', 'cat').stdout.toString()).toMatch(/"stdout": "x"/);
      expect(svc('', '--', 'kill-no-such').status).toBe(127);
      expect(svc('', '--timeout', '1s', '--', 'sleep', '60').status).toBe(124);
    });

    it('reports that a shell needs a terminal', () => {
      const run = spawnSync(process.execPath, [cli, 'sandbox', 'shell', id], {
        env: { ...process.env, SVC_SERVER: server.url },
      });
      expect([run.status, run.stderr.toString()]).toEqual([
        125,
        expect.stringContaining('use `svc sandbox exec`'),
      ]);
    });
  });
};

for (const declare of [everywhere, inMachine, onWorkers, inMachineOnWorker])
  declare(['tmux'], 'svc sandbox shell', shell);
