// Opening: what is made, what is refused, what survives a restart.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { APPLICATION_ID, SCHEMA_VERSION } from '../../../src/store/sqlite/migrate.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { appended, eventDraft, NO_CAP, sandboxRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const open = (path: string) => openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });

/** A closed database; `spoil` gets a raw connection to it first. */
async function database(spoil: (db: Sqlite.Database) => void = () => {}): Promise<string> {
  const path = join(temporaryFolder(), 'svc.db');
  await (await open(path)).close();
  const raw = new Sqlite(path);
  spoil(raw);
  raw.close();
  return path;
}

it('makes the folder and files private to their owner', async () => {
  const folder = join(temporaryFolder(), 'a', 'b');
  const store = await open(join(folder, 'svc.db'));
  await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] });
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const file of readdirSync(folder))
    expect([file, statSync(join(folder, file)).mode & 0o777]).toEqual([file, 0o600]);
  await store.close();
  expect(readdirSync(folder).sort()).toEqual(['svc.db', 'svc.db.lock', 'svc.db.reserve']);
});

it('removes the rights of others from an existing file', async () => {
  const path = await database();
  chmodSync(path, 0o644);
  await (await open(path)).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('marks the file with the application id and its version', async () => {
  const path = await database((raw) => {
    expect(raw.pragma('application_id', { simple: true })).toBe(APPLICATION_ID);
    expect(raw.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION);
    expect(raw.pragma('journal_mode', { simple: true })).toBe('wal');
  });
  expect(readFileSync(path).subarray(0, 15).toString()).toBe('SQLite format 3');
});

it('keeps instance, rows and rising event ids over a restart', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const row = sandboxRecord();
  const first = await open(path);
  await first.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  const [before] = await appended(first.events, [eventDraft()]);
  await first.close();
  const second = await open(path);
  expect(second.instance).toEqual(first.instance);
  expect(await second.sandboxes.list({ limit: 9 })).toEqual([row]);
  const [after] = await appended(second.events, [eventDraft()]);
  expect(after!.id).toBeGreaterThan(before!.id);
  await second.close();
});

it('gives event ids in commit order beyond a reserved block', async () => {
  const store = await open(join(temporaryFolder(), 'svc.db'));
  const many = Array.from({ length: 25_000 }, () => eventDraft());
  await store.events.append(many);
  const types = ['sandbox.created', 'file.read'] as const;
  const [created, read] = types.map((type) => eventDraft({ type, data: { last: true } }));
  await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [created!] });
  await store.events.append([read!]);
  const all = await store.events.since(0, 30_000);
  expect(all.slice(-2).map(({ type }) => type)).toEqual(types);
  const ids = all.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  expect(new Set(ids).size).toBe(25_002);
  await store.close();
});

it('answers unavailable after close', async () => {
  const store = await open(join(temporaryFolder(), 'svc.db'));
  await store.close();
  await expect(store.ping()).rejects.toMatchObject({ code: 'unavailable' });
});

it('refuses a newer schema, names both versions, and leaves the file alone', async () => {
  const path = await database((raw) => raw.pragma('user_version = 99'));
  const bytes = readFileSync(path);
  await expect(open(path)).rejects.toMatchObject({
    code: 'conflict',
    message: `The database has schema version 99, this program supports ${SCHEMA_VERSION}.`,
    remedy: expect.stringContaining('newer'),
  });
  expect(readFileSync(path)).toEqual(bytes);
});

it('refuses the database of another program and leaves it alone', async () => {
  const path = join(temporaryFolder(), 'other.db');
  const raw = new Sqlite(path);
  raw.exec('CREATE TABLE theirs (x)');
  raw.close();
  const bytes = readFileSync(path);
  await expect(open(path)).rejects.toMatchObject({ code: 'conflict', remedy: expect.any(String) });
  expect(readFileSync(path)).toEqual(bytes);
});

it('checks only after an unclean stop, and refuses damage that only the check finds', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const deps = fakeDeps();
  const store = await openSqliteStore({ ...deps, path, synchronous: 'full' });
  for (let i = 0; i < 200; i++)
    await store.sandboxes.reserve({ sandbox: sandboxRecord(), limits: NO_CAP, events: [] });
  await store.close();
  const again = await openSqliteStore({ ...deps, path, synchronous: 'full' });
  await again.events.append([eventDraft()]);
  const [file, wal] = [readFileSync(path), readFileSync(`${path}-wal`)];
  await again.close();
  expect(deps.logger.lines.map(({ level }) => level)).toEqual(['info', 'info']);

  const copy = join(temporaryFolder(), 'svc.db');
  const lay = (bytes: Buffer) => {
    writeFileSync(copy, bytes);
    writeFileSync(`${copy}-wal`, wal);
  };
  lay(file);
  const checked = await openSqliteStore({ ...deps, path: copy, synchronous: 'full' });
  expect((await checked.sandboxes.countActive()).total).toBe(200);
  expect(deps.logger.lines.map(({ level }) => level)).toEqual(['info', 'info', 'warn', 'info']);
  await checked.close();
  // The last page is a leaf of rows: nothing on the way reads it.
  lay(Buffer.from(file).fill(0xff, file.length - 4096));
  await expect(open(copy)).rejects.toMatchObject({
    code: 'internal',
    message: 'The database file is damaged.',
  });
});

it('refuses a truncated file', async () => {
  const path = await database();
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, bytes.length - 4096));
  await expect(open(path)).rejects.toMatchObject({
    code: 'internal',
    message: 'The disk failed to read the database, or the file is damaged.',
  });
});

it.each([
  ['a folder', (path: string) => mkdirSync(path)],
  ['a broken link to a distant path', (path: string) => symlinkSync('/nowhere/at/all.db', path)],
  ['below a file', (path: string) => writeFileSync(path.slice(0, path.lastIndexOf('/sub')), '')],
])('answers unavailable, without a path, where the file is %s', async (_, prepare) => {
  const folder = temporaryFolder();
  const path =
    prepare.length && _ === 'below a file' ? join(folder, 'file', 'sub', 'svc.db') : join(folder, 'svc.db');
  prepare(path);
  const error = await open(path).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ name: 'ServiceError', code: 'unavailable', remedy: expect.any(String) });
  expect((error as Error).message).not.toContain(folder);
});
