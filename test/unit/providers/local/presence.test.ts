// Which errors prove an absence, and which only prevent an inspection.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ifOurs, ifPresent } from '../../../../src/providers/local/presence.ts';

const failing = (code: string) => Promise.reject(Object.assign(new Error(code), { code }));
const folder = mkdtempSync(join(tmpdir(), 'svc-presence-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('only ENOENT and ESRCH prove that something does not exist', () => {
  it.each(['ENOENT', 'ESRCH'])('%s', async (code) => {
    expect(await ifPresent(failing(code))).toBeUndefined();
  });

  it.each(['EMFILE', 'ENFILE', 'EIO', 'EACCES', 'EPERM', 'ENOMEM', 'EINTR', 'ENOTDIR', 'ELOOP'])(
    'not %s',
    async (code) => {
      await expect(ifPresent(failing(code))).rejects.toMatchObject({ code: 'unavailable' });
    },
  );

  it('nor a hidden entry, where it may belong to somebody else', async () => {
    expect(await ifOurs(failing('EACCES'))).toBeUndefined();
    await expect(ifOurs(failing('EMFILE'))).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('as returned by the system itself', async () => {
    writeFileSync(join(folder, 'file'), 'x');
    expect(await ifPresent(readFile(join(folder, 'file'), 'utf8'))).toBe('x');
    expect(await ifPresent(lstat(join(folder, 'none')))).toBeUndefined();
    expect(await ifPresent(readFile('/proc/4194303/stat', 'utf8'))).toBeUndefined();
  });
});

describe('while no file can be opened', () => {
  it('keeps processes and run folders that it cannot inspect', async () => {
    vi.resetModules();
    const emfile = () => failing('EMFILE');
    vi.doMock('node:fs/promises', async (original) => ({
      ...(await original<typeof import('node:fs/promises')>()),
      readFile: emfile,
      lstat: emfile,
      readdir: emfile,
    }));
    const { isAlive, killProcess } = await import('../../../../src/providers/local/processes.ts');
    const { markedProcesses } = await import('../../../../src/providers/userspace/process-marker.ts');
    const { runtimeNames } = await import('../../../../src/providers/local/instance-folders.ts');
    const { startOf } = await import('../../../../src/providers/microvm/destroy.ts');
    const own = { pid: process.pid, start: 1 };
    const places = { instance: folder } as Parameters<typeof runtimeNames>[0];
    for (const look of [
      () => isAlive(own),
      () => killProcess(own, 'SIGCONT'),
      () => markedProcesses('x', undefined),
      () => runtimeNames(places),
      () => startOf(process.pid),
    ])
      await expect(look()).rejects.toMatchObject({ message: expect.stringContaining('EMFILE') });
    vi.doUnmock('node:fs/promises');
    vi.resetModules();
  });
});
