// Backups: what they hold, what they refuse, and that nothing half-made and nothing of the source's changes.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type BackupRequest, backupDatabase } from '../../../../src/ops/db/backup.ts';
import { requireSpace } from '../../../../src/ops/db/space.ts';
import { SCHEMA_VERSION } from '../../../../src/store/sqlite/migrate.ts';
import {
  contentOf,
  hashOf,
  makeDatabase,
  makeUnclosed,
  marksIn,
  openStore,
} from '../../../support/databases.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

async function setting() {
  const folder = temporaryFolder();
  const backups = join(folder, 'backups');
  mkdirSync(backups);
  return { folder, backups, database: join(folder, 'svc.db'), output: join(backups, 'b.db') };
}

const backup = (request: BackupRequest) => backupDatabase(request, fakeClock());

it('holds the content of the database, readable only by its owner, in one file', async () => {
  const { database, output, backups } = await setting();
  await makeDatabase(database, 'mine', 30);
  const report = await backup({ database, output });
  expect(marksIn(output)).toEqual(['30 mine']);
  expect(statSync(output).mode & 0o777).toBe(0o600);
  expect(readdirSync(backups)).toEqual(['b.db']);
  expect(report).toMatchObject({
    database,
    output,
    sha256: hashOf(output),
    size_bytes: statSync(output).size,
    schema_version: SCHEMA_VERSION,
  });
  expect(report.tables.find(({ name }) => name === 'sandboxes')).toMatchObject({ rows: 30 });
  // It needs no log of its own, so that it can be read where nothing can be written.
  expect(readFileSync(output)[18]).toBe(1);
});

it('leaves the source unchanged, closed or after a kill, and includes its log', async () => {
  const { folder, database, output } = await setting();
  for (const make of [makeDatabase, makeUnclosed]) {
    await make(database, 'mine', 25);
    const before = contentOf(folder);
    await backup({ database, output, force: true });
    const { 'svc.db-shm': _, ...after } = contentOf(folder);
    expect(after).toEqual(before);
    expect(marksIn(output)).toEqual(['25 mine']);
    execFileSync('find', [folder, '-name', 'svc.db*', '-delete']);
  }
});

it('copies while a server uses the database', async () => {
  const { database, output } = await setting();
  const store = await openStore(database);
  await backup({ database, output });
  expect(marksIn(output)).toEqual([]);
  await store.close();
});

it('keeps an existing output unless forced', async () => {
  const { database, output } = await setting();
  await makeDatabase(database);
  writeFileSync(output, 'mine');
  await expect(backup({ database, output })).rejects.toMatchObject({
    code: 'conflict',
    remedy: expect.stringContaining('--force'),
  });
  expect(readFileSync(output, 'utf8')).toBe('mine');
  await backup({ database, output, force: true });
  expect(marksIn(output)).toEqual(['20 host']);
});

it('keeps an output that appears at the last moment', async () => {
  const { database, output, backups } = await setting();
  await makeDatabase(database);
  const onStage = (stage: string) => {
    if (stage === 'install') writeFileSync(output, 'mine');
  };
  await expect(backup({ database, output, onStage })).rejects.toMatchObject({ code: 'conflict' });
  expect(readFileSync(output, 'utf8')).toBe('mine');
  expect(readdirSync(backups)).toEqual(['b.db']);
});

it('reports its progress, and ends on an abort without leftovers', async () => {
  const { database, output, backups } = await setting();
  await makeDatabase(database);
  const controller = new AbortController();
  const stages: string[] = [];
  const onStage = (stage: string, done?: number) => {
    stages.push(stage);
    if (done !== undefined) controller.abort(new Error('enough'));
  };
  await expect(backup({ database, output, onStage, signal: controller.signal })).rejects.toThrow('enough');
  expect(stages).toEqual(['copy', 'copy']);
  expect(readdirSync(backups)).toEqual([]);
});

it('publishes no copy that fails its checks', async () => {
  const { database, output, backups } = await setting();
  await makeDatabase(database, 'mine', 200);
  const bytes = readFileSync(database);
  writeFileSync(database, bytes.fill(0xff, bytes.length - 4096));
  await expect(backup({ database, output })).rejects.toMatchObject({
    code: 'internal',
    details: { problems: expect.arrayContaining([expect.any(String)]) },
  });
  expect(readdirSync(backups)).toEqual([]);
});

it('publishes no database of another program', async () => {
  const { database, output, backups } = await setting();
  const raw = new Sqlite(database);
  raw.exec('CREATE TABLE theirs (x)');
  raw.close();
  await expect(backup({ database, output })).rejects.toMatchObject({ code: 'conflict' });
  expect(readdirSync(backups)).toEqual([]);
});

it('refuses a source that is not a file without waiting for it', async () => {
  const { folder, output } = await setting();
  execFileSync('mkfifo', [join(folder, 'fifo')]);
  writeFileSync(join(folder, 'empty'), '');
  const code = (name: string) =>
    backup({ database: join(folder, name), output }).catch((error: { code: string }) => error.code);
  expect(await code('fifo')).toBe('bad_request');
  expect(await code('backups')).toBe('bad_request');
  expect(await code('absent')).toBe('not_found');
  expect(await code('empty')).toBe('conflict');
  expect(existsSync(output)).toBe(false);
});

it('removes leftovers of a killed backup, and nothing of a running one', async () => {
  const { database, output, backups } = await setting();
  await makeDatabase(database);
  // Pids end at 2^22.
  for (const name of [
    'b.db.4194999.part',
    'b.db.4194999.part-journal',
    'b.db.1.part',
    'b.db.x.part',
    'c.db.4194999.part',
  ])
    writeFileSync(join(backups, name), '');
  await backup({ database, output });
  expect(readdirSync(backups).sort()).toEqual(['b.db', 'b.db.1.part', 'b.db.x.part', 'c.db.4194999.part']);
});

it('requires free space first', () => {
  const statfs = (() => ({ bavail: 10, bsize: 4096 * 1024 })) as never;
  requireSpace('/', 10 * 1024 * 1024, statfs);
  expect(() => requireSpace('/', 30 * 1024 * 1024, statfs)).toThrow(
    expect.objectContaining({ code: 'resource_limit', status: 507 }),
  );
});
