// What the file routes reach of the process that works for them: nothing, in every kind of sandbox that holds our agent.
import { expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { runInside } from '../support/hosts/userspace.ts';

const SEEN = ['maps', 'mem', 'environ', 'auxv', 'fdinfo/0'].map((name) => `/proc/self/${name}`);
const ENDS = ['/proc/self/fd', '/proc/thread-self/fd', '/dev/fd'].flatMap((folder) =>
  [3, 4, 5].map((fd) => `${folder}/${fd}`),
);

/** `open` gives a session with a sandbox that this suite may write to. */
export function ownFiles(open: () => Promise<SandboxIo>, home = '/workspace'): void {
  it('file operations reach neither memory nor descriptors of the agent', async () => {
    const io = await open();
    const { files } = io;
    for (const path of SEEN) await expect(files.read(path, { offset: 0 }), path).rejects.toThrow();
    for (const path of ENDS) {
      await expect(files.write(path, Buffer.from('\x05\0\0\0\x11'), {}), path).rejects.toThrow();
      await expect(files.chmod(path, 0o600), path).rejects.toThrow();
    }
    await runInside(io, ['/bin/ln', '-sfn', '/proc/self', `${home}/me`]);
    await expect(files.read(`${home}/me/maps`, { offset: 0 })).rejects.toThrow();
    await expect(files.list(`${home}/me/fd`, 1)).rejects.toThrow();
    await expect(files.move('/proc/self/maps', `${home}/maps`)).rejects.toThrow();
    expect((await files.stat(`${home}/me`)).type).toBe('symlink');
    (await files.read('/proc/mounts', { offset: 0 })).content.destroy();
  });
}
