// Processes of programs for E2B that outlive the server: found, followed and ended by the newest unmodified SDK after the server
// was killed and started again.
import { Sandbox } from 'e2b';
import { expect, it } from 'vitest';
import { eachRuntime, inContainers, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { removeHome, startServer } from '../support/servers/server.ts';

const LATER = { timeout: 30_000 };

const programs = ({ env, ordinaryUser, onWorker }: Runtime) => {
  it('live on when the server is killed', { timeout: 90_000 }, async () => {
    let server = await startServer({ env, ordinaryUser, onWorker });
    const at = () => ({ apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url });
    const sandbox = await Sandbox.create(at());
    const script = 'echo begun; while read -r line; do echo "got $line"; done; echo over; exit 3';
    const background = { background: true as const, stdin: true, timeoutMs: 0 };
    const first = await sandbox.commands.run(script, { ...background, cwd: '/tmp' });
    await expect.poll(() => first.stdout, LATER).toBe('begun\n');
    const loud = await sandbox.commands.run(
      'until [ -e /tmp/go ]; do sleep 0.1; done; head -c 3000000 /dev/zero | tr "\\0" x; echo; echo last; exec sleep 1000',
      background,
    );
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {}, timeoutMs: 0 });
    const gone = [first.wait(), loud.wait(), terminal.wait()].map((wait) => wait.catch(() => undefined));
    await server.kill();
    await Promise.all(gone);
    server = await startServer({ env, ordinaryUser, onWorker, home: server.home });

    const again = await Sandbox.connect(sandbox.sandboxId, at());
    const listed = await again.commands.list();
    expect(listed.map(({ pid }) => pid).sort()).toEqual([first.pid, loud.pid, terminal.pid].sort());
    expect(listed.find(({ pid }) => pid === first.pid)).toMatchObject({
      ...{ cmd: '/bin/bash', args: ['-l', '-c', script], cwd: '/tmp' },
    });
    const followed = await again.commands.connect(first.pid);
    const second = await again.commands.connect(first.pid);
    await again.commands.sendStdin(first.pid, 'one\n');
    await again.commands.closeStdin(first.pid);
    const end = { exitCode: 3, stdout: 'got one\nover\n' };
    await expect(followed.wait()).rejects.toMatchObject(end);
    await expect(second.wait()).rejects.toMatchObject(end);
    expect((await again.commands.list()).map(({ pid }) => pid)).not.toContain(first.pid);

    // Nobody followed it: the end of its output is kept, and that the rest is not is said.
    await again.files.write('/tmp/go', '');
    const print = 'while grep -q bash /proc/$0/cmdline; do sleep 0.1; done';
    await again.commands.run(`bash -c '${print}' ${loud.pid}`);
    const kept = await again.commands.connect(loud.pid);
    await expect.poll(() => kept.stdout.endsWith('last\n'), LATER).toBe(true);
    expect(kept.stderr).toBe('[svc: earlier output was dropped]\n');
    expect(kept.stdout.length).toBeLessThan(1.1 * 1024 * 1024);
    expect([await again.commands.kill(loud.pid), await again.commands.kill(loud.pid)]).toEqual([true, false]);
    await kept.wait().catch(() => undefined);

    let shown = '';
    const onData = (bytes: Uint8Array) => {
      shown += new TextDecoder().decode(bytes);
    };
    const screen = await again.pty.connect(terminal.pid, { timeoutMs: 0, onData });
    await again.pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await again.pty.sendInput(terminal.pid, new TextEncoder().encode('stty size; exit 0\n'));
    await screen.wait();
    expect(shown).toContain('30 100');
    expect(await again.commands.list()).toEqual([]);
    await again.kill();
    await server.stop();
    removeHome(server.home);
  });
};

eachRuntime([], 'processes of programs for E2B', programs);
inContainers(['runc'], { needs: [], name: 'processes of programs for E2B' }, programs);
onWorkers([], 'processes of programs for E2B', programs);
