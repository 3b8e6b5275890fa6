// Tenants of a pool's VM try to reach each other and to get out, by real execs: the same attempts under every provider
// that makes such VMs. Whoever declares them makes the VM and ends it.
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { PoolUser, UserIo } from '../../src/agent/io.ts';
import { listeningPorts } from '../../src/control/access/ports.ts';
import type { SandboxRecord } from '../../src/store/store.ts';
import { attempts, notStopped } from '../support/checks/attempts.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { until } from '../support/until.ts';

export interface Tenants {
  /** Both have entered. */
  ann: UserIo & { user: PoolUser };
  bob: UserIo & { user: PoolUser };
  /** The host's uid of uid 0 in there. */
  hostUid: number;
}

/** Attempts that this kind of VM does not stop: what a tenant sees of another. Told in docs/threat-model.md. */
export interface Unstopped {
  seen: readonly string[];
}

const KEY = 0x5bc1;
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
const LISTENER = `
import socket, time
server = socket.create_server(('127.0.0.1', 0))
print(server.getsockname()[1], flush=True)
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

export function tenantsAreApart(tenants: () => Tenants, { seen }: Unstopped): void {
  it('stops every attempt of a tenant to reach another', async () => {
    const { ann, bob } = tenants();
    const secret = `${ann.user.home}/secret`;
    await ann.files.write(secret, Buffer.from('secret'), { mode: 0o666 });
    const victim = ann.exec({ ...spec(['/usr/bin/python3', '-c', VICTIM]), env: { SECRET: 'x' } });
    const [pid, port] = (await firstLine(victim)).split(' ').map(Number);
    const facts = { ...ann.user, file: secret, pid, port, key: KEY, own: bob.user.home };
    const outcomes = await attempts(bob, 'tenant-attacks', facts, bob.user.home);
    expect(Object.keys(outcomes).length).toBeGreaterThan(50);
    expect(notStopped(outcomes)).toEqual(Object.fromEntries(seen.map((name) => [name, 'DONE'])));
    await expect(bob.connect(port ?? 0)).rejects.toMatchObject({ code: 'unavailable' });
    expect(await hello(ann, port ?? 0)).toBe('hello');
    victim.kill();
    await victim.exit;
  });

  it('stops every attempt of a tenant to get out', async () => {
    const { bob } = tenants();
    const host_files = ['/etc/shadow', '/root'];
    const facts = { canary: 'svc-no-canary', host_pid: process.pid, host_port: 1, host_files };
    expect(notStopped(await attempts(bob, 'escapes', facts, bob.user.home))).toEqual({});
  });

  it('bounds the processes and, where the kernel can, the disk space of each tenant', async () => {
    const { ann, bob } = tenants();
    const bomb = await runInside(bob, ['/usr/bin/python3', '-c', BOMB]);
    expect(Number(bomb.stdout)).toBeGreaterThan(100);
    expect(Number(bomb.stdout)).toBeLessThan(256);
    expect((await runInside(ann, ['/bin/echo', 'fine'])).stdout).toBe('fine\n');
    await bob.leave();
    await bob.enter();
    const filled = await runInside(bob, ['/bin/sh', '-c', 'cat /dev/zero > $HOME/full']);
    expect(filled.stderr).toMatch(/No space left|quota exceeded/);
    if (/quota/.test(filled.stderr))
      await ann.files.write(`${ann.user.home}/room`, Buffer.alloc(1 << 20), {});
    await bob.leave();
    await bob.enter();
    expect((await bob.files.list(bob.user.home, 1)).length).toBe(0);
  });

  it('leaves no process or file of a tenant that left', async () => {
    const { ann, hostUid } = tenants();
    const uid = hostUid + ann.user.uid;
    await ann.exec({ ...spec(['/bin/sh', '-c', 'setsid sleep 600 & echo > f; chmod 0 f .']), detach: true })
      .exit;
    await until('the process', () => processesOf(uid).length > 0);
    await ann.leave();
    expect(processesOf(uid)).toEqual([]);
    await ann.enter();
    expect(await ann.files.list(ann.user.home, 3)).toEqual([]);
  });

  it('tells each tenant its own ports alone', async () => {
    const { ann, bob } = tenants();
    const programs = [ann, bob].map((io) => io.exec(spec(['/usr/bin/python3', '-c', LISTENER])));
    const ports = await Promise.all(programs.map(async (one) => Number(await firstLine(one))));
    const told = await Promise.all([ann, bob].map(portsOf));
    for (const [at, own] of ports.entries()) {
      expect(told[at]).toContain(own);
      expect(told[at]).not.toContain(ports[1 - at]);
    }
    for (const program of programs) {
      program.kill();
      await program.exit;
    }
  });

  it('gives a tenant a terminal of its own', async () => {
    const exec = tenants().ann.exec({
      ...spec(['/bin/sh', '-c', 'echo x > $(tty) && echo fine']),
      pty: { rows: 24, cols: 80 },
    });
    let said = '';
    for await (const { data } of exec.output) said += data.toString();
    expect(said).toBe('x\r\nfine\r\n');
  });
}

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

/** As GET /sandboxes/{id}/ports answers for a tenant. */
async function portsOf({ files, user }: UserIo & { user: PoolUser }): Promise<number[]> {
  const access = { use: (_row: unknown, _signal: unknown, work: (io: object) => unknown) => work({ files }) };
  const found = await listeningPorts(access as never, { uid: user.uid } as SandboxRecord, soon());
  return found.map(({ port }) => port);
}

async function hello(io: UserIo, port: number): Promise<string> {
  const socket = await io.connect(port);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString();
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
