// Locks on open files, taken by the real agent on descriptors of this process.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { lockFile, lockFileOften } from '../../src/host/file-lock.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { itWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

async function opened(path: string): Promise<FileHandle> {
  const file = await open(path, 'a');
  onTestFinished(() => file.close());
  return file;
}

const often = ({ fd }: FileHandle) => lockFileOften(AGENT, fd, 'The file');

/** Processes of this one that take locks. */
function lockers(): number[] {
  const children = readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return children.filter((pid) => commandOf(pid).includes('lock-files'));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

it('one opening has the lock until it is closed, whoever asks and by whatever means', async () => {
  const path = join(temporaryFolder(), 'file');
  const first = await open(path, 'a');
  const second = await opened(path);
  expect(await often(first)).toBe(true);
  expect(await often(first)).toBe(true);
  expect(await often(second)).toBe(false);
  expect(await lockFile(AGENT, second.fd)).toBe(false);
  await first.close();
  expect(await often(second)).toBe(true);
});

it('answers many at once, each for its own file', async () => {
  const folder = temporaryFolder();
  const names = Array.from({ length: 40 }, (_, n) => join(folder, `${n}`));
  const held = await Promise.all(names.filter((_, n) => n % 2 === 0).map(opened));
  expect(await Promise.all(held.map(often))).toEqual(held.map(() => true));
  const asking = await Promise.all(names.map(opened));
  expect(await Promise.all(asking.map(often))).toEqual(names.map((_, n) => n % 2 === 1));
});

itWith(['root'], 'one program takes all locks, and another one its place when it is killed', async () => {
  const folder = temporaryFolder();
  for (let n = 0; n < 5; n++) expect(await often(await opened(join(folder, `${n}`)))).toBe(true);
  const [pid, ...others] = lockers();
  expect(others).toEqual([]);
  process.kill(pid as number, 'SIGKILL');
  for (let n = 5; n < 10; n++) expect(await often(await opened(join(folder, `${n}`)))).toBe(true);
  await vi.waitFor(() => expect(lockers().includes(pid as number)).toBe(false), { timeout: 20_000 });
  expect(await often(await opened(join(folder, '0')))).toBe(false);
});

it('starts a program for each lock where none may take descriptors of this process', async () => {
  const folder = temporaryFolder();
  const program = join(folder, 'refused');
  const script = `[ "$1" = lock-files ] && { printf 3; read -r end; exit; }\nexec ${AGENT} "$@"\n`;
  writeFileSync(program, `#!/bin/sh\n${script}`, { mode: 0o755 });
  const [first, second] = [await opened(join(folder, 'file')), await opened(join(folder, 'file'))];
  expect(await lockFileOften(program, first.fd, 'The file')).toBe(true);
  expect(await lockFileOften(program, second.fd, 'The file')).toBe(false);
  expect(await often(second)).toBe(false);
});

it('fails where the program is not there', async () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, '');
  const file = await opened(path);
  await expect(lockFileOften('/nonexistent', file.fd, 'The file')).rejects.toMatchObject({
    code: 'unavailable',
    message: 'The file cannot be locked.',
  });
});
