// The agent on gVisor's kernel: each thing that this kernel refuses or does not do, and that nobody should notice.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Exec } from '../../src/agent/io.ts';
import { type GvisorAgent, startGvisorAgent } from '../support/hosts/gvisor-agent.ts';
import { freshId, runInside } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import { ownFiles } from './own-files.suite.ts';

describeWith(['root', 'runsc', 'cc'], 'the agent under gVisor', () => {
  let agent: GvisorAgent;
  beforeAll(async () => {
    agent = await startGvisorAgent();
  }, 60_000);
  afterAll(() => agent.stop());

  const sh = (line: string) => runInside(agent.io, ['/bin/sh', '-c', line]);

  ownFiles(async () => agent.io, '/tmp');

  it('tells existing files from missing ones (fstatat takes no AT_NO_AUTOMOUNT)', async () => {
    const { files } = agent.io;
    await files.write('/tmp/tree/a/file', Buffer.from('text'), { mode: 0o640 });
    await sh('ln -s file /tmp/tree/a/link; ln -s a /tmp/tree/door');
    expect(await files.stat('/tmp/tree/a/file')).toMatchObject({ type: 'file', size: 4, mode: '640' });
    await expect(files.stat('/tmp/tree/none')).rejects.toMatchObject({ code: 'not_found' });
    expect((await files.list('/tmp/tree', 2)).map(({ path, type }) => [path, type])).toEqual([
      ['/tmp/tree/a', 'dir'],
      ['/tmp/tree/a/file', 'file'],
      ['/tmp/tree/a/link', 'symlink'],
      ['/tmp/tree/door', 'symlink'],
    ]);
    expect(await files.glob('/tmp/tree/*/fi*', 10)).toEqual(['/tmp/tree/a/file', '/tmp/tree/door/file']);
    await files.remove('/tmp/tree', true);
    await expect(files.stat('/tmp/tree')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('closes inherited descriptors in one call (close_range takes signed numbers)', async () => {
    // One by one that is 65,536 calls, more than a second here.
    const { stdout } = await sh(
      'ulimit -n; for fd in $(seq 3 40); do (: <&$fd) 2>/dev/null && echo $fd; done',
    );
    expect(Number.parseInt(stdout, 10)).toBeGreaterThan(4096);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) times.push((await sh('true')).duration_ms);
    expect(Math.min(...times)).toBeLessThan(1000);
  });

  /** A terminal with a shell, its text so far, and keys for it. */
  function terminal(script: string) {
    const exec: Exec = agent.io.exec({
      ...{ exec_id: freshId(), argv: ['/bin/sh', '-c', script], label: 'terminal', env: { TERM: 'dumb' } },
      ...{ pty: { rows: 24, cols: 80 }, stdin: true, timeoutMs: 60_000 },
    });
    let seen = '';
    const reading = (async () => {
      for await (const { data } of exec.output) seen += data.toString();
    })();
    return {
      exec,
      shows: (what: string) => until(`the terminal to show ${what}`, () => seen.includes(what)),
      type: (keys: string) => exec.stdin.write(Buffer.from(keys)),
      exit: () => reading.then(() => exec.exit),
    };
  }

  it('gives a program its terminal (TIOCSCTTY fails for a process that already has it)', async () => {
    const { shows, exit } = terminal('tty; stty size; exit 3');
    await shows('/dev/pts/');
    await shows('24 80');
    expect(await exit()).toMatchObject({ exit_code: 3 });
  });

  it('interrupts the foreground process and leaves the shell (no signals by keys)', async () => {
    const { shows, type, exit } = terminal('exec bash --norc --noprofile -i');
    // The shell waits for its command by then: before, the key would interrupt the shell itself.
    await type("sh -c 'echo u''p; sleep 1000'\r");
    await shows('up\r\n');
    await type('\u0003');
    await type('echo $?.$((41+1))\r');
    await shows('130.42\r\n');
    await type('exit 7\r');
    expect(await exit()).toMatchObject({ exit_code: 7 });
  });

  it('drops the lines that were typed before an interrupt key', async () => {
    const { shows, type, exit } = terminal(
      'trap "echo interrupted" INT; echo ready; sleep 2; read a; echo "<$a>"',
    );
    await shows('ready');
    await type('early\rearlier\r');
    await type('\u0003');
    await shows('interrupted');
    await type('late\r');
    await shows('<late>');
    expect(await exit()).toMatchObject({ exit_code: 0 });
  });

  it('passes interrupt keys as bytes to a program that wants them', async () => {
    const { shows, type, exit } = terminal('stty -isig -icanon -echo; echo ready; head -c 2 | od -An -tx1');
    await shows('ready');
    await type('\u0003\u001c');
    await shows('03 1c');
    expect(await exit()).toMatchObject({ exit_code: 0 });
  });

  it('reports a new size to the foreground process, and leaves no process behind', async () => {
    const { exec, shows, exit } = terminal(
      "trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.1; done",
    );
    await shows('ready');
    await exec.resize(33, 101);
    await shows('33 101');
    expect(await exit()).toMatchObject({ exit_code: 5 });
    // The process that signals for the kernel goes with its terminal.
    await until('no agent but the first', async () => {
      const { stdout } = await sh('cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | grep -c "^serve$"');
      return stdout === '1\n';
    });
  });

  it('ends a terminal at once when it is cancelled', async () => {
    const { exec, shows, exit } = terminal('echo ready; sleep 1000');
    await shows('ready');
    exec.kill();
    expect(await exit()).toMatchObject({ exit_code: 137 });
  });
});
