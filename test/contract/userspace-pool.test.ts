// The VM of a pool by the userspace provider, under both runners: one tenant tries to reach another, by real execs.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo, UserIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { NOTHING, remains } from '../support/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';
import {
  freshId,
  runInside,
  runtimeSpec,
  soon,
  type UserspaceHome,
  userspaceHome,
} from '../support/userspace.ts';

const ATTACKS = readFileSync(new URL('../support/tenant-attacks.py', import.meta.url));
const ESCAPES = readFileSync(new URL('../support/escapes.py', import.meta.url));
const STOPPED = [
  'EPERM',
  'EACCES',
  'EROFS',
  'ENOENT',
  'ENOSYS',
  'ESRCH',
  'EXDEV',
  'EADDRINUSE',
  'EMFILE',
  'ECONNREFUSED',
  'ENETUNREACH',
  'EAFNOSUPPORT',
  'SIGSYS',
];
const KEY = 0x5bc1;
const ANN = { uid: 20_001, home: '/workspaces/sb-ann' };
const BOB = { uid: 20_002, home: '/workspaces/sb-bob' };
/** Listens, shares memory and semaphores, keeps a secret in its environment, and says its number and port. */
const VICTIM = `
import ctypes, os, socket, time
libc = ctypes.CDLL(None)
libc.shmget(${KEY}, 4096, 0o1600), libc.semget(${KEY}, 1, 0o1600)
server = socket.create_server(('127.0.0.1', 0))
print(os.getpid(), server.getsockname()[1], flush=True)
server.accept()[0].sendall(b'hello')
time.sleep(600)
`;
const BOMB = `
import os, time
count = 0
for _ in range(4000):
    try:
        if os.fork() == 0:
            time.sleep(600)
        count += 1
    except OSError:
        break
print(count, flush=True)
`;

for (const runner of ['unshare', 'bwrap'] as const) {
  describeWith(['root', runner, 'python3'], `the VM of a pool of ${runner}`, () => {
    const id = freshId();
    let place: UserspaceHome;
    let provider: Provider;
    let io: SandboxIo;
    let ann: UserIo;
    let bob: UserIo;

    beforeAll(async () => {
      place = userspaceHome();
      provider = place.provider({ runner });
      await provider.create(runtimeSpec(id, { memory_mb: 256, role: 'pool' }), soon());
      io = await provider.attach({ id, epoch: 1 }, soon());
      ann = io.as?.(ANN) as UserIo;
      bob = io.as?.(BOB) as UserIo;
      await Promise.all([ann.enter(), bob.enter()]);
    });
    afterAll(async () => {
      io?.close();
      await provider.destroy({ id, epoch: 1 }, soon());
      expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
      place.remove();
    });

    it('has an agent with three rights over its own uids and none over the host', async () => {
      const { pid } = JSON.parse(readFileSync(`/run/svc/${runFolder(place, id)}/runtime.json`, 'utf8'));
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      const uid = Number(/^Uid:\t(\d+)/m.exec(status)?.[1]);
      expect(uid).toBeGreaterThanOrEqual(1_879_048_192 + 65_536);
      expect(readFileSync(`/proc/${pid}/uid_map`, 'utf8').trim().split(/\s+/)).toEqual([
        '0',
        `${uid}`,
        '65536',
      ]);
      const chownSetuidSetgid = '00000000000000c1';
      for (const set of ['CapPrm', 'CapEff', 'CapBnd'])
        expect(status).toContain(`${set}:\t${chownSetuidSetgid}`);
      for (const set of ['CapInh', 'CapAmb']) expect(status).toContain(`${set}:\t${'0'.repeat(16)}`);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    });

    it('stops a tenant each way it tries to reach another', async () => {
      await ann.files.write(`${ANN.home}/secret`, Buffer.from('secret'), { mode: 0o666 });
      const victim = ann.exec({ ...spec(['/usr/bin/python3', '-c', VICTIM]), env: { SECRET: 'x' } });
      const [pid, port] = (await firstLine(victim)).split(' ').map(Number);
      const facts = { ...ANN, file: `${ANN.home}/secret`, pid, port, key: KEY, own: BOB.home };
      await bob.files.write(`${BOB.home}/attacks.py`, ATTACKS, {});
      const attack = await runInside(bob, [
        '/usr/bin/python3',
        `${BOB.home}/attacks.py`,
        JSON.stringify(facts),
      ]);
      expect(attack.stderr).toBe('');
      const results = JSON.parse(attack.stdout) as Record<string, string>;
      expect(Object.keys(results).length).toBeGreaterThan(50);
      expect(Object.entries(results).filter(([, outcome]) => !STOPPED.includes(outcome))).toEqual([]);
      await expect(bob.connect(port ?? 0)).rejects.toMatchObject({ code: 'unavailable' });
      expect(await hello(ann, port ?? 0)).toBe('hello');
      victim.kill();
      await victim.exit;
    });

    it('stops a tenant each way it tries to get out', async () => {
      await bob.files.write(`${BOB.home}/escapes.py`, ESCAPES, {});
      const facts = {
        canary: 'svc-no-canary',
        host_pid: process.pid,
        host_port: 1,
        host_files: ['/etc/shadow', '/root'],
      };
      const { stdout, stderr } = await runInside(bob, [
        '/usr/bin/python3',
        `${BOB.home}/escapes.py`,
        JSON.stringify(facts),
      ]);
      expect(stderr).toBe('');
      const results = JSON.parse(stdout) as Record<string, string>;
      expect(Object.entries(results).filter(([, outcome]) => !STOPPED.includes(outcome))).toEqual([]);
    });

    it('bounds the processes and, where the kernel can, the room of each tenant', async () => {
      const bomb = await runInside(bob, ['/usr/bin/python3', '-c', BOMB]);
      expect(Number(bomb.stdout)).toBeGreaterThan(100);
      expect(Number(bomb.stdout)).toBeLessThan(256);
      expect((await runInside(ann, ['/bin/echo', 'fine'])).stdout).toBe('fine\n');
      await bob.leave();
      await bob.enter();
      const filled = await runInside(bob, ['/bin/sh', '-c', 'cat /dev/zero > $HOME/full']);
      expect(filled.stderr).toMatch(/No space left|quota exceeded/);
      if (/quota/.test(filled.stderr)) await ann.files.write(`${ANN.home}/room`, Buffer.alloc(1 << 20), {});
      await bob.leave();
      await bob.enter();
      expect((await bob.files.list(BOB.home, 1)).length).toBe(0);
    });

    it('leaves nothing of a tenant that has gone', async () => {
      const uid = hostUid(place, id) + ANN.uid;
      await ann.exec({ ...spec(['/bin/sh', '-c', 'setsid sleep 600 & echo > f; chmod 0 f .']), detach: true })
        .exit;
      await until('the process', () => processesOf(uid).length > 0);
      await ann.leave();
      expect(processesOf(uid)).toEqual([]);
      await ann.enter();
      expect(await ann.files.list(ANN.home, 3)).toEqual([]);
    });

    it('gives terminals to those they are for', async () => {
      const exec = ann.exec({
        ...spec(['/bin/sh', '-c', 'echo x > $(tty) && echo fine']),
        pty: { rows: 24, cols: 80 },
      });
      let said = '';
      for await (const { data } of exec.output) said += data.toString();
      expect(said).toBe('x\r\nfine\r\n');
    });
  });
}

describeWith(['root', 'unshare'], 'the VM of a pool with workspaces on disk', () => {
  it('keeps them in a folder that goes with it', async () => {
    const place = userspaceHome();
    const id = freshId();
    const provider = place.provider({ runner: 'unshare', workspace: 'disk' });
    await provider.create(runtimeSpec(id, { role: 'pool' }), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    const ann = io.as?.(ANN) as UserIo;
    await ann.enter();
    await ann.files.write(`${ANN.home}/a`, Buffer.from('x'), {});
    const folder = `${place.home}/workspaces/${id}.1`;
    expect(readdirSync(`${folder}/sb-ann`)).toEqual(['a']);
    io.close();
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(remains({ home: place.home }, [id])).toEqual(NOTHING);
    place.remove();
  });
});

function spec(argv: string[]) {
  return { exec_id: freshId(), argv, label: argv.join(' '), env: { PATH: '/usr/bin:/bin' } };
}

async function firstLine(exec: ReturnType<UserIo['exec']>): Promise<string> {
  let said = '';
  for await (const { data } of exec.output) {
    said += data.toString();
    if (said.includes('\n')) return said.trim();
  }
  throw new Error(`no line: ${said}`);
}

async function hello(io: UserIo, port: number): Promise<string> {
  const socket = await io.connect(port);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString();
}

function runFolder(place: UserspaceHome, id: string): string {
  return `${place.instance.id.replaceAll('-', '').slice(0, 12)}/${id}.1`;
}

/** The host's uid of uid 0 in there. */
function hostUid(place: UserspaceHome, id: string): number {
  const { uid_slot } = JSON.parse(readFileSync(`/run/svc/${runFolder(place, id)}/runtime.json`, 'utf8'));
  return 1_879_048_192 + uid_slot;
}

function processesOf(uid: number): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        return new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(status) && !/^State:\t[ZX]/m.test(status);
      } catch {
        return false;
      }
    });
}
