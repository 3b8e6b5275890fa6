// A sandbox of a server of root tries to get out, by real execs in real sandboxes, under both runners.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { attempts, notStopped } from '../support/checks/attempts.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { type HostSide, hostSide } from '../support/hosts/host-side.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { ownFiles } from './own-files.suite.ts';

const PEEK = readFileSync(new URL('../support/checks/peek.py', import.meta.url));
/** Forks until that is refused, says how often, and takes its children with it. */
const BOMB = `
import os, signal, time
count = 0
try:
    while os.fork():
        count += 1
    time.sleep(60)
except OSError:
    print(count, flush=True)
    os.killpg(0, signal.SIGKILL)
`;
/** Opens terminals until that is refused. */
const TERMINALS = `
import errno, os
count = 0
try:
    while True:
        os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)
        count += 1
except OSError as error:
    print(count, errno.errorcode[error.errno])
`;
for (const runner of ['unshare', 'bwrap'] as const) {
  describeWith(['root', runner, 'python3'], `a sandbox of ${runner}`, () => {
    const id = freshId();
    let place: UserspaceHome;
    let provider: Provider;
    let io: SandboxIo;
    let host: HostSide;

    beforeAll(async () => {
      host = await hostSide();
      place = userspaceHome();
      provider = place.provider({ runner });
      await provider.create(runtimeSpec(id, { memory_mb: 256 }), soon());
      io = await provider.attach({ id, epoch: 1 }, soon());
    });
    afterAll(async () => {
      io?.close();
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      place.remove();
      await host.close();
    });

    ownFiles(async () => io);

    it('is stopped in every escape attempt', async () => {
      const outcomes = await attempts(io, 'escapes', host.facts);
      expect(Object.keys(outcomes).length).toBeGreaterThan(50);
      expect(notStopped(outcomes)).toEqual({});
    });

    it('names itself in /etc/os-release', async () => {
      const { stdout } = await runInside(io, [
        'sh',
        '-c',
        '. /etc/os-release && echo "$VARIANT_ID $PRETTY_NAME"',
      ]);
      expect(stdout.trim()).toMatch(/^svc-sandbox .*svc sandbox$/);
    });

    it('holds no privileges', async () => {
      const { stdout } = await runInside(io, ['/bin/cat', '/proc/self/status', '/proc/1/status']);
      const sets = stdout.match(/^Cap\w+:\s+(\w+)$/gm) ?? [];
      expect(sets).toHaveLength(10);
      expect(sets.every((line) => /\s0+$/.test(line))).toBe(true);
      expect(stdout.match(/^NoNewPrivs:\s+1$/gm)).toHaveLength(2);
      expect(stdout.match(/^Seccomp:\s+2$/gm)).toHaveLength(2);
      expect(stdout.match(/^Uid:\s+1000\s+1000\s+1000\s+1000$/gm)).toHaveLength(2);
    });

    it('cannot look into an exec that has not become its program yet', async () => {
      await io.files.write('/workspace/peek.py', PEEK, {});
      let isOver = false;
      const peek = runInside(io, ['/usr/bin/python3', '/workspace/peek.py', '5']).finally(() => {
        isOver = true;
      });
      while (!isOver) await runInside(io, ['/bin/true']);
      const { stdout, stderr } = await peek;
      expect(stderr).toBe('');
      const [seen, taken] = stdout.trim().split(' ').map(Number);
      expect(seen).toBeGreaterThan(0);
      expect(taken).toBe(0);
    });

    it('is killed before its agent when memory runs out', async () => {
      const { stdout } = await runInside(io, [
        '/bin/cat',
        '/proc/self/oom_score_adj',
        '/proc/1/oom_score_adj',
      ]);
      expect(stdout).toBe('500\n0\n');
    });

    it('gets only its share of the terminals of the host', async () => {
      const { stdout } = await runInside(io, ['/usr/bin/python3', '-c', TERMINALS]);
      expect(stdout).toBe('256 ENOSPC\n');
    });

    it('lets debuggers of its own work: ptrace of a child is allowed', async () => {
      const script = 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))';
      expect((await runInside(io, ['/usr/bin/python3', '-c', script])).stdout).toBe('0\n');
    });

    // bubblewrap bounds bytes alone; there files count as memory of the sandbox.
    // bubblewrap has no option for it.
    if (runner === 'unshare')
      it('has a limit on the number of files it may write', async () => {
        const look = `
import os
for line in open('/proc/mounts'):
    path, kind, options = line.split()[1:4]
    if kind == 'tmpfs' and 'rw' in options.split(',') and os.access(path, os.W_OK):
        at = os.statvfs(path)
        print(path, at.f_files <= max(1024, at.f_blocks * at.f_frsize // 4096))
`;
        const { stdout } = await runInside(io, ['/usr/bin/python3', '-c', look]);
        expect(stdout.trim().split('\n').sort()).toEqual(['/dev/shm True', '/tmp True', '/workspace True']);
      });

    it('stays within its limits: a fork bomb, a memory hog and a full disk end by themselves', async () => {
      const bombed = await runInside(io, ['/usr/bin/python3', '-c', BOMB]);
      expect(bombed.exit_code).toBe(137);
      expect(Number(bombed.stdout)).toBeGreaterThan(50);
      expect(Number(bombed.stdout)).toBeLessThan(512);
      await io.ping();
      const hog = await runInside(io, ['/usr/bin/python3', '-c', 'x = b"x" * (1 << 30); print("alive")']);
      expect(hog).toMatchObject({ stdout: '', exit_code: 137 });
      await io.ping();
      const filled = await runInside(io, [
        '/bin/sh',
        '-c',
        'cat /dev/zero > /workspace/full; rm /workspace/full',
      ]);
      expect(filled.stderr).toMatch(/No space left/);
      await io.ping();
    });
  });
}
