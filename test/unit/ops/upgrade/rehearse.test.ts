// Rehearsed upgrades: from every schema version, of databases of every condition, without a trace in the source.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type RehearsalRequest, rehearseUpgrade } from '../../../../src/ops/upgrade/rehearse.ts';
import { SCHEMA_VERSION } from '../../../../src/store/sqlite/migrate.ts';
import {
  contentOf,
  databaseOfVersion,
  hashOf,
  makeDatabase,
  makeUnclosed,
  marksIn,
  openStore,
} from '../../../support/databases.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const VERSIONS = Array.from({ length: SCHEMA_VERSION }, (_, at) => at + 1);

function setting() {
  const folder = temporaryFolder();
  const outside = temporaryFolder();
  return { folder, outside, database: join(folder, 'svc.db'), backupOutput: join(outside, 'b.db') };
}

const rehearse = (request: Omit<RehearsalRequest, 'programVersion'>) =>
  rehearseUpgrade({ ...request, programVersion: '1.2.3' }, fakeDeps());

const statuses = ({ steps }: { steps: { id: string; status: string }[] }) =>
  Object.fromEntries(steps.map(({ id, status }) => [id, status]));

it.each(VERSIONS)(
  'upgrades a copy of schema version %d and leaves the original as it was',
  async (version) => {
    const { folder, outside, database, backupOutput } = setting();
    databaseOfVersion(database, version);
    const before = contentOf(folder);
    const report = await rehearse({ database, backupOutput });
    expect(contentOf(folder)).toEqual(before);
    expect(readdirSync(outside)).toEqual(['b.db']);
    expect(report).toMatchObject({ ok: true, from_version: version, to_version: SCHEMA_VERSION });
    expect(statuses(report)).toEqual({
      backup: 'pass',
      migration: 'pass',
      checks: 'pass',
      rows: 'pass',
      records: 'pass',
    });
    expect(report.backup).toMatchObject({ schema_version: version, sha256: hashOf(backupOutput) });
    expect(report.upgrade.join('\n')).toContain(`svc db backup ${backupOutput} --database ${database}`);
    expect(report.way_back.join('\n')).toContain(
      `svc db restore ${backupOutput} --database ${database} --yes`,
    );
  },
);

it('upgrades a copy while a server writes, and after a kill', async () => {
  const { folder, database, backupOutput } = setting();
  const store = await openStore(database);
  expect((await rehearse({ database, backupOutput })).ok).toBe(true);
  await store.close();
  execFileSync('find', [folder, '-name', 'svc.db*', '-delete']);
  await makeUnclosed(database, 'mine', 33);
  const before = contentOf(folder);
  expect((await rehearse({ database, backupOutput, force: true })).ok).toBe(true);
  const { 'svc.db-shm': _, ...after } = contentOf(folder);
  expect(after).toEqual(before);
  expect(marksIn(backupOutput)).toEqual(['33 mine']);
});

it.each([
  ['damaged', (path: string) => writeFileSync(path, readFileSync(path).fill(0xff, 20_000, 60_000))],
  ['cut', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, 50_000))],
  ['not a database', (path: string) => writeFileSync(path, 'x'.repeat(9999))],
  ['of a newer version', (path: string) => change(path, 'PRAGMA user_version = 99')],
])('reports a database that is %s, changes nothing and leaves no backup', async (_, spoil) => {
  const { folder, outside, database, backupOutput } = setting();
  await makeDatabase(database);
  spoil(database);
  const before = contentOf(folder);
  const report = await rehearse({ database, backupOutput });
  expect(contentOf(folder)).toEqual(before);
  expect(readdirSync(outside)).toEqual([]);
  expect(report).toMatchObject({ ok: false, upgrade: [], way_back: [] });
  expect(statuses(report)).toMatchObject({ backup: 'fail', migration: 'skip', records: 'skip' });
  expect(report.steps[0]?.problems).not.toEqual([]);
});

it('refuses an empty file and leaves it unchanged', async () => {
  const { folder, database, backupOutput } = setting();
  writeFileSync(database, '');
  await expect(rehearse({ database, backupOutput })).rejects.toMatchObject({ code: 'conflict' });
  expect(contentOf(folder)).toEqual({ 'svc.db': hashOf(database) });
});

it('finds records that this program cannot read', async () => {
  const { database, backupOutput } = setting();
  await makeDatabase(database);
  change(database, "UPDATE sandboxes SET env = 'no JSON' WHERE rowid = 7");
  const report = await rehearse({ database, backupOutput });
  expect(statuses(report)).toMatchObject({ rows: 'pass', records: 'fail' });
  expect(report.ok).toBe(false);
});

it('continues with an invalid configuration, and reports it', async () => {
  const { database, backupOutput } = setting();
  await makeDatabase(database);
  const lint = {
    file: 'svc.yaml',
    production: true,
    errors: 1,
    warnings: 0,
    known: 0,
    mended: 0,
    findings: [FINDING],
  };
  const usable = await rehearse({ database, backupOutput, lint: { ...lint, usable: true } });
  expect(usable).toMatchObject({ ok: true, config: 'svc.yaml' });
  expect(statuses(usable)).toMatchObject({ configuration: 'warn', records: 'pass' });
  const not = await rehearse({ database, backupOutput, force: true, lint: { ...lint, usable: false } });
  expect(not.ok).toBe(false);
  expect(statuses(not)).toMatchObject({ configuration: 'fail', records: 'pass' });
});

it.each([
  ['warn', true],
  ['fail', false],
])('adopts the verdict %s of the doctor', async (verdict, ok) => {
  const { database, backupOutput } = setting();
  await makeDatabase(database);
  const checks = [{ id: 'a.b', title: 'Space', verdict, ms: 1, message: 'There is little.' }];
  const doctor = async () =>
    ({
      verdict,
      production: true,
      ms: 1,
      groups: [{ id: 'a', title: 'A', verdict, ms: 1, checks }],
    }) as never;
  const report = await rehearse({ database, backupOutput, doctor });
  expect(report.ok).toBe(ok);
  expect(statuses(report)).toMatchObject({ doctor: verdict, records: 'pass' });
});

const FINDING = {
  rule: 'SVC101',
  level: 'error',
  topic: 'Access',
  key: 'auth.enabled',
  message: 'The service is open.',
  remedy: 'Close it.',
  line: 1,
  column: 1,
  fingerprint: 'f',
} as never;

it('ends on an abort, and removes leftovers of a killed rehearsal', async () => {
  const { outside, database, backupOutput } = setting();
  await makeDatabase(database);
  for (const pid of ['4194999', '1']) mkdirSync(join(outside, `.svc-rehearsal-${pid}-abc`));
  const controller = new AbortController();
  const onStage = (stage: string) => {
    if (stage === 'migrate') controller.abort(new Error('enough'));
  };
  await expect(rehearse({ database, backupOutput, onStage, signal: controller.signal })).rejects.toThrow(
    'enough',
  );
  expect(readdirSync(outside).sort()).toEqual(['.svc-rehearsal-1-abc', 'b.db']);
});

it('rehearses 270 MB and leaves the original unchanged', async () => {
  const { folder, database, backupOutput } = setting();
  await makeDatabase(database);
  change(
    database,
    `WITH RECURSIVE n(i) AS (SELECT 100000 UNION ALL SELECT i + 1 FROM n LIMIT 27000)
     INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, data)
       SELECT i, 'exec.started', '2026-01-01T00:00:00.000Z', NULL, NULL, json_object('text', hex(randomblob(5000))) FROM n`,
    'UPDATE event_ids SET reserved_through = 1000000',
  );
  const before = contentOf(folder);
  const report = await rehearse({ database, backupOutput });
  expect(contentOf(folder)).toEqual(before);
  expect(report.backup!.size_bytes).toBeGreaterThan(270_000_000);
  expect(report).toMatchObject({ ok: true });
  expect(existsSync(backupOutput)).toBe(true);
}, 240_000);

function change(path: string, ...statements: string[]): void {
  const db = new Sqlite(path);
  for (const sql of statements) db.exec(sql);
  db.close();
}
