// Restores: the old database is kept, the new one is whole, and nothing that stands beside either plays a part.
import { chownSync, copyFileSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { backupDatabase } from '../../../../src/ops/db/backup.ts';
import { type RestoreRequest, restoreDatabase } from '../../../../src/ops/db/restore.ts';
import {
  contentOf,
  hashOf,
  makeDatabase,
  makeUnclosed,
  marksIn,
  openStore,
} from '../../../support/databases.ts';
import { FAKE_START, fakeClock } from '../../../support/fakes/ports.ts';
import { appended, eventDraft } from '../../../support/records.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

let restores = 0;
/** Each a second later than the one before. */
const restore = (request: RestoreRequest) =>
  restoreDatabase(request, fakeClock(FAKE_START + 1000 * ++restores));

/** A database with `old` sandboxes and a backup with `new` ones, of two instances. */
async function setting(make = makeDatabase) {
  const database = await make(join(temporaryFolder(), 'svc.db'), 'old', 40);
  const origin = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'new', 50);
  const input = join(temporaryFolder(), 'b.db');
  await backupDatabase({ database: origin, output: input }, fakeClock());
  return { database, input, folder: join(database, '..') };
}

async function opens(path: string): Promise<number> {
  const store = await openStore(path);
  const { total } = await store.sandboxes.countActive();
  await store.close();
  return total;
}

it.each([
  ['closed', makeDatabase],
  ['left by a killed server', makeUnclosed],
])('replaces a database that was %s, keeps it, and prints the command that undoes it', async (_, make) => {
  const { database, input, folder } = await setting(make);
  const report = await restore({ input, database });
  expect(report).toMatchObject({ dry_run: false, sha256: hashOf(input), safety_copy: expect.any(String) });
  expect(marksIn(database)).toEqual(['50 new']);
  expect(readdirSync(folder).filter((name) => /-wal|-shm|-journal|part/.test(name))).toEqual([]);
  expect(report.way_back).toBe(`svc db restore ${report.safety_copy} --database ${database} --yes`);
  expect(await opens(database)).toBe(50);
  await restore({ input: report.safety_copy!, database });
  expect(await opens(database)).toBe(40);
});

it('restores a backup without an earlier database', async () => {
  const { input } = await setting();
  const database = join(temporaryFolder(), 'svc.db');
  const report = await restore({ input, database });
  expect(report.safety_copy).toBeUndefined();
  expect(await opens(database)).toBe(50);
  expect(statSync(database).mode & 0o777).toBe(0o600);
});

it('refuses rows that the API would refuse, and names them', async () => {
  const { database, input, folder } = await setting();
  const db = new Sqlite(input);
  db.exec("UPDATE sandboxes SET owner_id = '../etc' WHERE id = (SELECT min(id) FROM sandboxes)");
  db.close();
  const before = contentOf(folder);
  await expect(restore({ input, database })).rejects.toMatchObject({
    code: 'internal',
    remedy: expect.stringContaining('Correct or delete these rows'),
    details: { problems: [expect.stringMatching(/^sandboxes, row sb-\w+: owner_id is not the name/)] },
  });
  expect(contentOf(folder)).toEqual(before);
});

it('refuses while a server uses the database', async () => {
  const { database, input } = await setting();
  const store = await openStore(database);
  await expect(restore({ input, database })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(`process ${process.pid}`),
  });
  await store.close();
  expect(marksIn(database)).toEqual(['40 old']);
});

it('refuses while another program has the database open, and leaves it unchanged', async () => {
  const { database, input, folder } = await setting();
  const other = new Sqlite(database);
  other.prepare('SELECT count(*) FROM sandboxes').get();
  await expect(restore({ input, database })).rejects.toMatchObject({
    code: 'conflict',
    message: 'Another program has the database open.',
  });
  other.close();
  expect(marksIn(database)).toEqual(['40 old']);
  expect(readdirSync(folder).sort()).toEqual(['svc.db', 'svc.db.lock', 'svc.db.reserve']);
});

it('ignores old logs beside either file', async () => {
  const { database, input } = await setting();
  const stale = await makeUnclosed(join(temporaryFolder(), 'svc.db'), 'stale', 40);
  for (const path of [database, input]) {
    copyFileSync(`${stale}-wal`, `${path}-wal`);
    writeFileSync(`${path}-shm`, Buffer.alloc(32_768, 7));
    writeFileSync(`${path}-journal`, 'stale');
  }
  const report = await restore({ input, database });
  expect(report.warnings).toContainEqual(expect.stringContaining('next to the backup'));
  expect(marksIn(database)).toEqual(['50 new']);
  expect(await opens(database)).toBe(50);
});

it('keeps an unreadable database unchanged, with its log', async () => {
  const { database, input } = await setting();
  writeFileSync(database, 'no database at all, but maybe of use to somebody'.repeat(99));
  writeFileSync(`${database}-wal`, 'log');
  const before = hashOf(database);
  const report = await restore({ input, database });
  expect(report.warnings).toContainEqual(expect.stringContaining('could not be opened'));
  expect(report.way_back).toBeUndefined();
  expect(hashOf(report.safety_copy!)).toBe(before);
  expect(readFileSync(`${report.safety_copy}-wal`, 'utf8')).toBe('log');
  expect(marksIn(database)).toEqual(['50 new']);
});

it('keeps the log of a missing database', async () => {
  const { database, input } = await setting();
  rmSync(database);
  writeFileSync(`${database}-wal`, 'log');
  const report = await restore({ input, database });
  expect(readFileSync(`${report.safety_copy}-wal`, 'utf8')).toBe('log');
  expect(report.warnings).toContainEqual(expect.stringContaining('could not be opened'));
  expect(report.way_back).toBeUndefined();
  expect(marksIn(database)).toEqual(['50 new']);
});

it.each([
  ['in its first page', 0, 4096],
  ['in the middle', 40_000, 12_000],
])('replaces a database that is damaged %s', async (_, at, length) => {
  const { database, input } = await setting();
  writeFileSync(database, readFileSync(database).fill(0xa5, at, at + length));
  const before = hashOf(database);
  const report = await restore({ input, database });
  expect(marksIn(database)).toEqual(['50 new']);
  // What a restore would refuse is no way back.
  expect(report.way_back).toBeUndefined();
  expect(report.warnings).toContainEqual(expect.stringMatching(/could not be opened|fails the checks/));
  if (!report.warnings.some((warning) => warning.includes('fails the checks')))
    expect(hashOf(report.safety_copy!)).toBe(before);
});

it('prints no undo command that would fail', async () => {
  const { database, input } = await setting();
  const raw = new Sqlite(database);
  raw.exec('UPDATE active_counts SET active = 7');
  raw.close();
  const report = await restore({ input, database });
  expect(report.way_back).toBeUndefined();
  expect(report.warnings).toContainEqual(expect.stringContaining('fails the checks'));
  await expect(restore({ input: report.safety_copy!, database })).rejects.toMatchObject({ code: 'internal' });
});

it.each([
  ['of a newer version', (db: Sqlite.Database) => void db.pragma('user_version = 99'), 'conflict'],
  ['of another program', (db: Sqlite.Database) => void db.pragma('application_id = 7'), 'conflict'],
  [
    'with a trigger of its own',
    (db: Sqlite.Database) =>
      void db.exec('CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END'),
    'internal',
  ],
  [
    'with wrong counters',
    (db: Sqlite.Database) => void db.exec('UPDATE active_counts SET active = 7'),
    'internal',
  ],
])('refuses a backup %s', async (_, spoil, code) => {
  const { database, input } = await setting();
  const raw = new Sqlite(input);
  spoil(raw);
  raw.close();
  await expect(restore({ input, database })).rejects.toMatchObject({ code });
  expect(marksIn(database)).toEqual(['40 old']);
});

it('removes leftovers of a killed restore, also of its safety copy', async () => {
  const { database, input, folder } = await setting();
  const left = ['svc.db.4194999.part', 'svc.db.before-20260102T030405.000Z-wal.4194999.part'];
  const kept = ['svc.db.before-20260102T030405.000Z', 'svc.db.before-20260102T030405.000Z.1.part'];
  for (const name of [...left, ...kept]) writeFileSync(join(folder, name), '');
  await restore({ input, database });
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(kept));
  expect(readdirSync(folder).filter((name) => left.includes(name))).toEqual([]);
});

it('refuses a missing folder, and the database as its own backup', async () => {
  const { database, input, folder } = await setting();
  await expect(restore({ input, database: join(folder, 'no', 'svc.db') })).rejects.toMatchObject({
    code: 'not_found',
  });
  await expect(restore({ input: database, database })).rejects.toMatchObject({ code: 'bad_request' });
});

it('changes nothing in a dry run, with the findings of a restore', async () => {
  const { database, input, folder } = await setting(makeUnclosed);
  const before = contentOf(folder);
  expect(await restore({ input, database, dryRun: true })).toMatchObject({
    dry_run: true,
    rows: expect.any(Number),
  });
  const { 'svc.db.lock': _, ...after } = contentOf(folder);
  expect(after).toEqual(before);
  const store = await openStore(database);
  await expect(restore({ input, database, dryRun: true })).rejects.toMatchObject({ code: 'conflict' });
  await store.close();
});

it('never decreases a counter, and reports a backup of another instance', async () => {
  const database = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'old', 5);
  const input = join(temporaryFolder(), 'b.db');
  await backupDatabase({ database, output: input }, fakeClock());
  const store = await openStore(database);
  const last = (
    await appended(
      store.events,
      Array.from({ length: 25_000 }, () => eventDraft()),
    )
  ).at(-1)!.id;
  await store.close();
  const raw = new Sqlite(database);
  raw.exec('UPDATE pool_uids SET given = 77');
  raw.close();
  expect((await restore({ input, database })).warnings).toEqual([]);
  const again = await openStore(database);
  const [next] = await appended(again.events, [eventDraft()]);
  expect(next!.id).toBeGreaterThan(last);
  await again.close();
  const check = new Sqlite(database);
  expect(check.prepare('SELECT given FROM pool_uids').pluck().get()).toBe(77);
  check.close();
  const stranger = await setting();
  const other = new Sqlite(stranger.database);
  other.exec("UPDATE instance SET id = 'another'");
  other.close();
  const { warnings } = await restore({ input, database: stranger.database });
  expect(warnings).toContainEqual(expect.stringContaining('another instance'));
});

it.skipIf(process.getuid?.() !== 0)('gives the files to the owner of the database', async () => {
  const { database, input, folder } = await setting();
  for (const name of readdirSync(folder)) chownSync(join(folder, name), 65534, 65534);
  await restore({ input, database });
  const owners = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).uid]);
  expect(owners.filter(([, uid]) => uid !== 65534)).toEqual([]);
});
