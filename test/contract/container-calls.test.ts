// Our seccomp profile on a real engine: in force, shut for what it is to shut, and open for what programs need.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { SECCOMP_PROFILE } from '../../src/providers/container/seccomp-profile.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, runInside, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

/** AF_VSOCK by a number with more bits than the kernel reads, io_uring, a new namespace, clone3. */
const SHUT = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def ask(*numbers):
    ctypes.set_errno(0)
    got = libc.syscall(*[ctypes.c_long(number) for number in numbers])
    return 'DONE' if got >= 0 else errno.errorcode[ctypes.get_errno()]
x64 = __import__('platform').machine() == 'x86_64'
socket, clone = (41, 56) if x64 else (198, 220)
print(ask(socket, 40, 1, 0), ask(socket, 40 + 2**32, 1, 0), ask(425, 4, 0), ask(clone, 0x10000011, 0, 0, 0, 0), ask(435, 0, 0))
`;
const PYTHON = `
import asyncio, multiprocessing, socket, subprocess, tempfile, threading
assert subprocess.run(['true']).returncode == 0
left, right = socket.socketpair()
left.sendall(b'x'); assert right.recv(1) == b'x'
threads = [threading.Thread(target=lambda: None) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
assert multiprocessing.Pool(2).map(abs, [-1, 2]) == [1, 2]
async def main():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), '127.0.0.1', 0)
    reader, _ = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b''
asyncio.run(main())
tempfile.NamedTemporaryFile().write(b'x')
print('fine')
`;
const NODE = `
const { execFileSync } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const { createServer } = require('node:http');
const fs = require('node:fs');
fs.writeFileSync('/tmp/x', 'x'); fs.copyFileSync('/tmp/x', '/tmp/y'); fs.watch('/tmp').close();
execFileSync('/bin/true');
new Worker('', { eval: true }).on('exit', () => {
  const server = createServer((_, answer) => answer.end('fine')).listen(0, '127.0.0.1', async () => {
    console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
    process.exit();
  });
});
`;
const C = `#include <pthread.h>
#include <stdio.h>
static void *run(void *word) { return word; }
int main(void) {
	pthread_t thread; void *word = 0;
	if (pthread_create(&thread, 0, run, "fine") || pthread_join(thread, &word)) return 1;
	puts(word); return 0;
}
`;

describeWith(['root', 'docker'], 'our profile of system calls', () => {
  const id = freshId();
  let engine: SharedEngine;
  let provider: Provider;
  let io: SandboxIo;
  const sh = (command: string) => runInside(io, ['/bin/sh', '-c', command]);

  beforeAll(async () => {
    engine = await sharedEngine();
    provider = containerHome(engine.socket).provider({ runtime: 'runc' });
    await provider.create(
      containerSpec(id, { image: IMAGES.debian, network: 'none', memory_mb: 512 }),
      soon(),
    );
    io = await provider.attach({ id, epoch: 1 }, soon());
  }, 120_000);
  afterAll(async () => {
    await provider?.destroy({ id, epoch: 1 }, soon());
    await provider?.close();
  });

  it('is the profile that the engine received', async () => {
    const [{ Id = '' } = {}] = await engine.api.containers(`svc.id=${id}`);
    const { body } = await engine.api.call<{ HostConfig: { SecurityOpt: string[] } }>(
      'GET',
      `/containers/${Id}/json`,
    );
    const [, profile = ''] =
      body.HostConfig.SecurityOpt.find((one) => one.startsWith('seccomp'))?.split('=') ?? [];
    expect(JSON.parse(profile)).toEqual(SECCOMP_PROFILE);
    expect((await sh('grep Seccomp: /proc/1/status /proc/self/status')).stdout).toMatch(/^(\S+\t2\n){2}$/);
  });

  it('blocks calls that reach the host or are seldom used', async () => {
    const { stdout, stderr } = await runInside(io, ['/usr/bin/python3', '-c', SHUT]);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^((EPERM|ENOSYS) ){4}ENOSYS\n$/);
  });

  it('lets Python, a C compiler, its programs and Node work', async () => {
    await io.files.write('/workspace/a.c', Buffer.from(C), {});
    await io.files.write('/workspace/node', readFileSync(process.execPath), { mode: 0o755 });
    expect(await runInside(io, ['/usr/bin/python3', '-c', PYTHON])).toMatchObject({
      stdout: 'fine\n',
      stderr: '',
    });
    expect(await sh('gcc -O2 -pthread -o a a.c && ./a')).toMatchObject({ stdout: 'fine\n', stderr: '' });
    expect(await runInside(io, ['/workspace/node', '-e', NODE])).toMatchObject({
      stdout: 'fine\n',
      stderr: '',
    });
  });
});
