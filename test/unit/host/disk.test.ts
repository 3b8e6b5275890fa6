// Small looks at files, disks and ports: what is there, nothing left behind, nothing waited for.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realHost } from '../../../src/host/real-host.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const host = realHost();

it('reads the start of a file, and all of a file in /proc', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, 'abcdef');
  expect((await host.read(path, 3))?.toString()).toBe('abc');
  expect((await host.read(path, 100))?.toString()).toBe('abcdef');
  expect((await host.read('/proc/self/limits', 65_536))?.toString()).toContain('Max open files');
  expect(await host.read(join(path, 'nothing'), 10)).toBeUndefined();
});

it('does not wait for the writer of a FIFO', async () => {
  const path = join(temporaryFolder(), 'fifo');
  execFileSync('mkfifo', [path]);
  expect((await host.read(path, 10))?.length).toBe(0);
});

it('measures writes, and leaves no file', async () => {
  const folder = temporaryFolder();
  const times = await host.timeSyncs(folder, 5);
  expect(times).toHaveLength(5);
  for (const time of times) expect(time).toBeGreaterThan(0);
  expect(readdirSync(folder)).toEqual([]);
  await expect(host.timeSyncs(join(folder, 'nowhere'), 1)).rejects.toMatchObject({ code: 'unavailable' });
});

it('gives a file two names, and leaves none', async () => {
  const folder = temporaryFolder();
  await host.tryLink(folder);
  expect(readdirSync(folder)).toEqual([]);
  await expect(host.tryLink('/proc')).rejects.toMatchObject({ code: 'ENOENT' });
});

it('reports the file system and the right to write', async () => {
  const folder = temporaryFolder();
  const { freeBytes, totalBytes, type } = await host.fileSystem(folder);
  expect(freeBytes).toBeLessThanOrEqual(totalBytes);
  expect(type).toBeGreaterThan(0);
  expect((await host.fileSystem('/proc')).type).toBe(0x9fa0);
  mkdirSync(join(folder, 'mine'));
  expect(await host.mayWrite(join(folder, 'mine'))).toBe(true);
  expect(await host.mayWrite(join(folder, 'nowhere'))).toBe(false);
});

it('gives the reason why a port cannot be used', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  expect(await host.portFault('127.0.0.1', port)).toBe('EADDRINUSE');
  await new Promise((resolve) => server.close(resolve));
  expect(await host.portFault('127.0.0.1', port)).toBeUndefined();
  expect(await host.portFault('192.0.2.1', port)).toBe('EADDRNOTAVAIL');
});
