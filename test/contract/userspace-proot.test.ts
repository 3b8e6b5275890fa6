// The proot runner is honest about what it is: named only, nothing isolated, a warning with every spawn. And whatever a
// guest leaves behind when its tracer is gone is found again and ended.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { UID_BASE } from '../../src/providers/local/uid-slots.ts';
import type { Provider } from '../../src/providers/provider.ts';
import {
  MARKER_VARIABLE,
  markedProcesses,
  processMarker,
} from '../../src/providers/userspace/process-marker.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';
import { ownFiles } from './own-files.suite.ts';

describeWith(['root', 'proot', 'python3'], 'a sandbox of proot', () => {
  let place: UserspaceHome;
  let provider: Provider;
  let short: string;

  beforeAll(() => {
    place = userspaceHome();
    provider = place.provider({ runner: 'proot' });
    short = place.instance.id.replaceAll('-', '').slice(0, 12);
  });
  afterAll(async () => {
    await provider.close();
    place.remove();
  });

  const record = (id: string) =>
    JSON.parse(readFileSync(join('/run/svc', short, `${id}.1`, 'runtime.json'), 'utf8')) as {
      pid: number;
      runner_pid: number;
      uid_slot: number;
    };
  /** Files that proot keeps in /tmp for one of this uid. */
  const loaders = (uid: number) =>
    readdirSync('/tmp').filter(
      (name) =>
        name.startsWith('prooted-') && statSync(join('/tmp', name), { throwIfNoEntry: false })?.uid === uid,
    );
  const sh = (io: SandboxIo, line: string) => runInside(io, ['/bin/sh', '-c', line]);

  it('promises no isolation, and warns of this with every spawn', async () => {
    const { isolation } = provider.describe();
    expect(new Set(Object.values(isolation))).toEqual(new Set(['none']));
    expect(Object.keys(isolation)).toEqual([
      'filesystem',
      'process',
      'network',
      'memory',
      'cpu',
      'disk',
      'user',
    ]);
    expect(provider.capabilities).not.toContain('connect');
    expect(provider.capabilities).not.toContain('network_none');
    expect(provider.hostsPools).toBe(false);
    const id = freshId();
    const { warnings } = await provider.create(runtimeSpec(id), soon());
    expect(warnings).toEqual([expect.stringMatching(/^proot does not isolate/)]);
    await provider.destroy({ id, epoch: 1 }, soon());
  });

  it('runs commands and keeps files, also with system calls newer than proot, never as uid 0', async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    await io.files.write('/workspace/deep/a', Buffer.from('text'), { mode: 0o640 }, soon());
    expect(
      await sh(io, 'cat deep/a; ls -l deep; test -r deep/a && mv deep/a b && stat -c %s b'),
    ).toMatchObject({
      stdout: expect.stringMatching(/^texttotal 4\n-rw-r----- 1 .* a\n4\n$/),
      stderr: '',
      exit_code: 0,
    });
    expect(await io.files.list('/workspace', 2, soon())).toMatchObject([
      { path: '/workspace/b', size: 4, mode: '640' },
      { path: '/workspace/deep', type: 'dir' },
    ]);
    expect((await sh(io, 'cat /etc/os-release')).stdout).toContain('VARIANT_ID=svc-sandbox\n');
    const { pid, runner_pid, uid_slot } = record(id);
    for (const one of [pid, runner_pid])
      expect(readFileSync(`/proc/${one}/status`, 'utf8')).toContain(`\nUid:\t${UID_BASE + uid_slot}\t`);
    expect((await sh(io, 'id -u; grep NoNewPrivs /proc/self/status')).stdout).toBe(
      `${UID_BASE + uid_slot}\nNoNewPrivs:\t1\n`,
    );
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
  });

  ownFiles(async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id), soon());
    onTestFinished(() => provider.destroy({ id, epoch: 1 }, soon()));
    return provider.attach({ id, epoch: 1 }, soon());
  });

  it('ends every process when it is destroyed, also a hidden daemon', async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    await sh(io, 'setsid env -i /bin/sleep 600 >/dev/null 2>&1 & setsid sleep 600 >/dev/null 2>&1 &');
    const uid = UID_BASE + record(id).uid_slot;
    expect((await markedProcesses('none', uid)).length).toBeGreaterThanOrEqual(4);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await markedProcesses('none', uid)).toEqual([]);
  });

  it('whose tracer is killed is lost, serves no call, and its stray processes end', async () => {
    const id = freshId();
    await provider.create(runtimeSpec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    await sh(io, 'setsid sleep 600 >/dev/null 2>&1 &');
    const { runner_pid, uid_slot } = record(id);
    expect(loaders(UID_BASE + uid_slot)).toHaveLength(1);
    const mark = processMarker({ folders: { short } as never }, `${id}.1`);
    // Before it sleeps it needs its tracer for calls of its own, and would fail without.
    await until('the stray to sleep', async () => (await markedProcesses(mark, undefined)).some(isAsleep));
    process.kill(runner_pid, 'SIGKILL');
    await io.closed;
    await until(
      'the loss is seen',
      async () => (await provider.inspect({ id, epoch: 1 }, soon())) === 'stopped',
    );
    await expect(provider.attach({ id, epoch: 1 }, soon())).rejects.toMatchObject({ code: 'unavailable' });
    expect((await markedProcesses(mark, undefined)).length).toBeGreaterThan(0);
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await markedProcesses(mark, UID_BASE + uid_slot)).toEqual([]);
    expect(loaders(UID_BASE + uid_slot)).toEqual([]);
    expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
  });

  it('that never wrote a record is ended by its mark, even when stopped', async () => {
    const id = freshId();
    const folder = join('/run/svc', short, `${id}.1`);
    mkdirSync(folder);
    // It holds the socket, as the sandbox's first process does.
    const hold = `import signal, socket, os
s = socket.socket(socket.AF_UNIX); s.bind('${folder}/agent.sock'); s.listen(1)
os.kill(os.getpid(), signal.SIGSTOP)`;
    const env = { [MARKER_VARIABLE]: processMarker({ folders: { short } as never }, `${id}.1`) };
    const left = spawn('/usr/bin/python3', ['-c', hold], { env, stdio: 'ignore' });
    const ended = new Promise((resolve) => left.once('exit', (_, signal) => resolve(signal)));
    await until('it is stopped', () => /^State:\tT/m.test(readFileSync(`/proc/${left.pid}/status`, 'utf8')));
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await ended).toBe('SIGKILL');
    expect(existsSync(folder)).toBe(false);
  });

  it('is never chosen by auto', async () => {
    const programs = temporaryFolder();
    symlinkSync('/usr/bin/proot', join(programs, 'proot'));
    const hidden = place.provider({ runner: 'auto' }, undefined, programs);
    expect(await hidden.probe(soon())).toMatchObject({
      healthy: false,
      message: expect.not.stringContaining('proot'),
    });
    await hidden.close();
  });
});

/** In the kernel, on its own account: not held by a tracer. */
function isAsleep(pid: number): boolean {
  try {
    const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
    return read('comm') === 'sleep\n' && read('wchan').includes('nanosleep');
  } catch {
    // It ended meanwhile.
    return false;
  }
}
