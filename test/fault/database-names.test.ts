// Two servers on one database by two names: hard links, mounts of the file, mounts of its folder, another mount namespace.
// The second one is refused while the first lives, and begins once it is killed and its file has one name.
import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { type Child, startChild } from '../support/child.ts';
import { openStore } from '../support/databases.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

countFaults('database of the server');

const MANY_NAMES = 'another name';

let rounds = 0;
async function writerAt(path: string): Promise<Child> {
  const child = await startChild('store-writer.child.ts', [path, `w${rounds++}`]);
  await until('it writes', () => child.lines.length > 10);
  return child;
}

/** Kills the writer and counts what it was told is stored and is not. */
async function lostBy(child: Child, path: string): Promise<number> {
  await child.kill();
  const store = await openStore(path);
  const rows = new Set((await store.sandboxes.list({ limit: 1_000_000 })).map(({ id }) => id));
  await store.close();
  const promised = child.lines.flatMap((line) => (line.startsWith('reserved ') ? [line.slice(9)] : []));
  expect(promised.length).toBeGreaterThan(0);
  return promised.filter((id) => !rows.has(id)).length;
}

/** As a server in a process of its own tries it. */
async function isRefused(path: string): Promise<boolean> {
  const second = await startChild('store-writer.child.ts', [path, 'second'], { stderr: 'ignore' });
  await Promise.race([second.ended, until('it begins', () => second.lines.length > 0)]);
  return second.lines.length === 0;
}

const locks = (path: string) => spawnSync('flock', ['-n', path, 'true']).status === 0;

itWith(['flock'], 'refuses a second server on a hard link, and loses no row', async () => {
  const [path, other] = [join(temporaryFolder(), 'svc.db'), join(temporaryFolder(), 'other.db')];
  const first = await writerAt(path);
  linkSync(path, other);
  expect(await isRefused(other)).toBe(true);
  await expect(openStore(other)).rejects.toMatchObject({ message: expect.stringContaining(MANY_NAMES) });
  expect(locks(other)).toBe(false);
  rmSync(other);
  expect(await lostBy(first, path)).toBe(0);
});

itWith(['flock'], 'releases the lock at once when its server is killed', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  for (let round = 0; round < 5; round++) {
    const first = await writerAt(path);
    expect(locks(path)).toBe(false);
    await first.kill();
    expect(locks(path)).toBe(true);
  }
});

describeWith(['root', 'flock', 'unshare'], 'a database that is mounted', () => {
  const mount = (from: string, to: string) => {
    expect(spawnSync('mount', ['--bind', from, to], { encoding: 'utf8' })).toMatchObject({ status: 0 });
    onTestFinished(() => void spawnSync('umount', ['-l', to]));
  };

  it('as a file: the server refuses that name, also without another server', async () => {
    const [path, other] = [join(temporaryFolder(), 'svc.db'), join(temporaryFolder(), 'oth er.db')];
    const first = await writerAt(path);
    writeFileSync(other, '');
    mount(path, other);
    expect(await isRefused(other)).toBe(true);
    expect(locks(other)).toBe(false);
    expect(await lostBy(first, path)).toBe(0);
    await expect(openStore(other)).rejects.toMatchObject({ remedy: 'Mount its folder instead.' });
  });

  it('with its folder: refused while the first server runs, accepted afterwards', async () => {
    const [folder, other] = [temporaryFolder(), temporaryFolder()];
    const first = await writerAt(join(folder, 'svc.db'));
    mount(folder, other);
    expect(await isRefused(join(other, 'svc.db'))).toBe(true);
    expect(await lostBy(first, join(other, 'svc.db'))).toBe(0);
  });

  it('in another mount namespace: its file is locked there, too', async () => {
    const [path, there] = [join(temporaryFolder(), 'svc.db'), join(temporaryFolder(), 'there')];
    const first = await writerAt(path);
    mkdirSync(there);
    const tried = () =>
      spawnSync('unshare', [
        ...['--mount', '--', 'sh', '-c'],
        'touch "$1/x.db" && mount --bind "$0" "$1/x.db" && flock -n "$1/x.db" true',
        ...[path, there],
      ]).status;
    expect(tried()).toBe(1);
    await first.kill();
    expect(tried()).toBe(0);
  });
});
