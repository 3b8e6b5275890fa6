// A database that several names lead to. Mounts need rights that unit tests have not: test/fault/database-names.test.ts.
import { linkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { backupDatabase } from '../../../src/ops/db/backup.ts';
import { restoreDatabase } from '../../../src/ops/db/restore.ts';
import { lockInode } from '../../../src/store/sqlite/inode-lock.ts';
import { openWorkerJournal } from '../../../src/store/sqlite/worker-journal.ts';
import { makeDatabase, marksIn, openStore } from '../../support/databases.ts';
import { fakeClock, fakeIds, seededRandom } from '../../support/fakes/ports.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const MANY_NAMES = {
  code: 'unavailable',
  message: expect.stringContaining('another name'),
  remedy: expect.stringContaining('copy the file'),
};
const IN_USE = { code: 'conflict', message: expect.stringContaining('in use by another process') };

const made = () => makeDatabase(join(temporaryFolder(), 'svc.db'));

it('a database with a hard link opens under neither name until one is removed', async () => {
  const path = await made();
  const other = join(temporaryFolder(), 'other.db');
  linkSync(path, other);
  for (const name of [path, other]) await expect(openStore(name)).rejects.toMatchObject(MANY_NAMES);
  rmSync(other);
  await (await openStore(path)).close();
});

it.each(['-wal', '-shm', '-journal', '.reserve'])('a %s that is a link is refused', async (end) => {
  const path = await made();
  rmSync(path + end, { force: true });
  const theirs = join(temporaryFolder(), 'theirs');
  writeFileSync(theirs, '');
  linkSync(theirs, path + end);
  await expect(openStore(path)).rejects.toMatchObject(MANY_NAMES);
  rmSync(path + end);
  symlinkSync(theirs, path + end);
  await expect(openStore(path)).rejects.toMatchObject(MANY_NAMES);
  rmSync(path + end);
  await (await openStore(path)).close();
});

it("a worker's journal with a hard link is refused", async () => {
  const path = join(temporaryFolder(), 'worker.db');
  const deps = { path, clock: fakeClock(), ids: fakeIds(), random: seededRandom() };
  await (await openWorkerJournal(deps)).close();
  linkSync(path, `${path}.link`);
  await expect(openWorkerJournal(deps)).rejects.toMatchObject(MANY_NAMES);
  rmSync(`${path}.link`);
  await (await openWorkerJournal(deps)).close();
});

it('a lock holds the file itself: neither another name nor another folder opens it', async () => {
  const path = await made();
  const letGo = await lockInode(path);
  onTestFinished(letGo);
  const folder = temporaryFolder();
  const moved = join(folder, 'moved.db');
  renameSync(path, moved);
  await expect(openStore(moved)).rejects.toMatchObject(IN_USE);
  await expect(lockInode(moved)).rejects.toMatchObject(IN_USE);
  letGo();
  letGo();
  await (await openStore(moved)).close();
});

it('a restore replaces no database that has another name or is in use by one', async () => {
  const [input, database] = [await makeDatabase(join(temporaryFolder(), 'b.db'), 'new'), await made()];
  const other = join(temporaryFolder(), 'other.db');
  linkSync(database, other);
  const restore = (from: string) => restoreDatabase({ input: from, database }, fakeClock());
  await expect(restore(input)).rejects.toMatchObject(MANY_NAMES);
  await expect(restore(other)).rejects.toMatchObject({ code: 'bad_request' });
  rmSync(other);
  const letGo = await lockInode(database);
  await expect(restore(input)).rejects.toMatchObject(IN_USE);
  letGo();
  expect(marksIn(database)).toEqual(['20 host']);
  await restore(input);
  expect(marksIn(database)).toEqual(['20 new']);
});

it('a backup replaces neither a database in use, nor its own source, nor one with a log', async () => {
  const [database, output] = [await made(), await makeDatabase(join(temporaryFolder(), 'o.db'), 'old')];
  const backup = (to: string) => backupDatabase({ database, output: to, force: true }, fakeClock());
  const server = await openStore(output);
  await expect(backup(output)).rejects.toMatchObject({ code: 'conflict' });
  await server.close();
  const letGo = await lockInode(output);
  await expect(backup(output)).rejects.toMatchObject(IN_USE);
  letGo();
  const link = join(temporaryFolder(), 'link.db');
  linkSync(database, link);
  await expect(backup(link)).rejects.toMatchObject({ code: 'bad_request' });
  const fresh = join(temporaryFolder(), 'fresh.db');
  writeFileSync(`${fresh}-wal`, 'log');
  await expect(backup(fresh)).rejects.toMatchObject({ code: 'conflict' });
  expect(marksIn(output)).toEqual(['20 old']);
  await backup(output);
  expect(marksIn(output)).toEqual(['20 host']);
});
