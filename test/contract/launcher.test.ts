// The launcher as a process: what becomes of launches when it stalls, is ended, or loses its server.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { accompany } from '../../src/host/child-processes.ts';
import { realClock } from '../../src/host/clock.ts';
import { encodeSettings, type Setting } from '../../src/providers/local/settings.ts';
import { openLauncher } from '../../src/providers/userspace/launcher.ts';
import { stateOf } from '../support/hosts/process-state.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;
const PATIENCE_MS = 1500;

/** Settings of a launch whose runner is a shell; it never becomes a sandbox. */
const order = (folder: string, script: string, more: Setting[] = []) =>
  encodeSettings([
    ['run_dir', folder],
    ['record', '{"x":1}'],
    ...more,
    ['runner', '/bin/sh'],
    ['arg', '-c'],
    ['arg', script],
  ]);

function request(number: number, settings: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(4 + settings.length, 0);
  head.writeUInt32LE(number, 4);
  return Buffer.concat([head, settings]);
}

/** A client of a real launcher whose patience is short, and the launcher's number. */
function impatient() {
  const folder = temporaryFolder();
  const clock = realClock();
  const started: number[] = [];
  const host = {
    accompany: (file: string, args: readonly string[]) => {
      const companion = accompany(file, args);
      started.push(...children().filter((pid) => !started.includes(pid) && isLauncher(pid)));
      return companion;
    },
  };
  const hurried = { ...clock, after: (_: number, run: () => void) => clock.after(PATIENCE_MS, run) };
  const launcher = openLauncher(host, hurried, async () => AGENT);
  onTestFinished(() => launcher.close());
  return { folder, launcher, pid: () => started.at(-1) as number };
}

const children = () =>
  readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number);
const isLauncher = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('launcher');
/** One that has ended and that nobody has waited for yet is not. */
const isThere = (pid: number) =>
  existsSync(`/proc/${pid}`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

describeWith(['cc'], 'the launcher', () => {
  it('starts no runner without the cgroups, and says which one cannot be made', async () => {
    const { folder, launcher } = impatient();
    const marker = join(folder, 'ran');
    const cgroup: Setting = ['cgroup', join(folder, 'nowhere/cgroup')];
    const { ok, text } = await launcher.launch(order(join(folder, 'a'), `touch ${marker}`, [cgroup]), never);
    expect([ok, text]).toEqual([false, 'make a cgroup: No such file or directory']);
    expect(existsSync(marker)).toBe(false);
  });

  it('that stalls never runs the launches that were reported as failed, and is replaced', async () => {
    const { folder, launcher, pid } = impatient();
    const marker = join(folder, 'ran');
    await launcher.launch(order(join(folder, 'a'), 'exit 1'), never);
    const stalled = pid();
    process.kill(stalled, 'SIGSTOP');
    const asked = Array.from({ length: 5 }, (_, n) =>
      launcher.launch(order(join(folder, `b${n}`), `touch ${marker}`), never),
    );
    for (const answer of await Promise.all(asked)) expect(answer.ok).toBe(false);
    if (isThere(stalled)) process.kill(stalled, 'SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect([existsSync(marker), isThere(stalled)]).toEqual([false, false]);
    await launcher.launch(order(join(folder, 'c'), `touch ${marker}`), never);
    expect(existsSync(marker)).toBe(true);
  });

  it('ends its running launches before it reports them as failed', async () => {
    const { folder, launcher, pid } = impatient();
    const seen = join(folder, 'launch');
    const answer = await launcher.launch(
      order(join(folder, 'a'), `echo $PPID > ${seen}.new; mv ${seen}.new ${seen}; sleep 30`),
      never,
    );
    expect(answer).toEqual({ ok: false, text: 'the launcher does not answer' });
    expect([isThere(Number(readFileSync(seen, 'utf8'))), isThere(pid())]).toEqual([false, false]);
  });

  it('finishes only the started launch when its server is gone', async () => {
    const folder = temporaryFolder();
    const [begun, late] = [join(folder, 'begun'), join(folder, 'late')];
    const child = spawn(AGENT, ['launcher'], { stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.stdin.write(request(1, order(join(folder, 'a'), `touch ${begun}.0; sleep 1; touch ${begun}`)));
    await until('the first one is begun', () => existsSync(`${begun}.0`));
    child.kill('SIGSTOP');
    // Before that it could see the request by itself.
    await until('the launcher to stop', () => stateOf(child.pid!) === 'T');
    child.stdin.write(request(2, order(join(folder, 'b'), `touch ${late}`)));
    await new Promise((resolve) => setTimeout(resolve, 50));
    // A stream is closed only a turn after it is destroyed.
    const closed = [child.stdin, child.stdout].map((stream) => once(stream, 'close'));
    child.stdin.destroy();
    child.stdout.destroy();
    await Promise.all(closed);
    child.kill('SIGCONT');
    await ended;
    expect([existsSync(begun), existsSync(late)]).toEqual([true, false]);
  });
});
