// The checks of files large enough for a process of their own: the same verdict, and an end at once.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { backupDatabase } from '../../../../src/ops/db/backup.ts';
import { type Checker, openChecker } from '../../../../src/ops/db/checker.ts';
import { verifyDatabase } from '../../../../src/store/sqlite/check.ts';
import { startCheckProcess } from '../../../../src/store/sqlite/check-process.ts';
import { contentOf, makeDatabase } from '../../../support/databases.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';
import { temporaryFolder } from '../../../support/temporary.ts';
import { until } from '../../../support/until.ts';

const LARGE = 32 * 1024 * 1024;
const home = mkdtempSync(join(tmpdir(), 'svc-test-'));
const database = join(home, 'svc.db');
afterAll(() => rmSync(home, { recursive: true }));

beforeAll(async () => {
  await makeDatabase(database);
  const db = new Sqlite(database);
  db.exec(`
    UPDATE event_ids SET reserved_through = 100000;
    WITH RECURSIVE n(i) AS (SELECT 50000 UNION ALL SELECT i + 1 FROM n LIMIT 5000)
      INSERT INTO events (id, type, timestamp, sandbox_id, owner_id, data)
       SELECT i, 'exec.started', '2026-01-01T00:00:00.000Z', NULL, NULL,
        json_object('text', hex(randomblob(3600))) FROM n`);
  db.close();
  expect(statSync(database).size).toBeGreaterThan(LARGE);
});

/** Programs whose arguments name the integrity check. */
const children = () =>
  execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('integrity_check'));

async function checking<T>(bytes: number, work: (checker: Checker) => Promise<T>): Promise<T> {
  const checker = openChecker(bytes, 'rows');
  return work(checker).finally(checker.close);
}

it('agrees with the check in the same process', async () => {
  const report = await checking(LARGE, (checker) => checker.check(database));
  expect(report).toEqual(verifyDatabase(database, 'rows'));
  expect(report.ok).toBe(true);
});

it('finds damage', async () => {
  const damaged = join(temporaryFolder(), 'damaged.db');
  const bytes = readFileSync(database);
  writeFileSync(damaged, bytes.fill(0xff, bytes.length - 100_000));
  const report = await checking(LARGE, (checker) => checker.check(damaged));
  expect(report.ok).toBe(false);
  expect(report).toEqual(verifyDatabase(damaged, 'rows'));
});

it('finds rows that the API would refuse', async () => {
  const refused = join(temporaryFolder(), 'refused.db');
  copyFileSync(database, refused);
  const db = new Sqlite(refused);
  db.exec("UPDATE sandboxes SET owner_id = 'a b'; UPDATE events SET data = '[]'");
  db.close();
  const report = await checking(LARGE, (checker) => checker.check(refused));
  expect(report).toEqual(verifyDatabase(refused, 'rows'));
  const [first, ...others] = report.checks.at(-1)!.problems;
  expect(first).toMatch(/^sandboxes, row sb-[0-9a-f]+: owner_id is not the name of an owner\.$/);
  expect(others).toHaveLength(19);
});

it('checks the rows of a large file in a separate process', async () => {
  const answer = await startCheckProcess('quick_check(1)', AbortSignal.timeout(60_000)).ask(database, [
    "SELECT type FROM events WHERE type REGEXP '^exec[.]\\p{L}+$' LIMIT 1",
  ]);
  expect(answer).toEqual({ lines: ['ok'], rows: ['exec.started'] });
});

it('uses no process for a small file, and leaves none when it is closed', async () => {
  await checking(1024, async (checker) => {
    expect(children()).toEqual([]);
    expect((await checker.check(database)).ok).toBe(true);
  });
  await checking(LARGE, async () => expect(children()).toHaveLength(1));
  await until('its process is gone', () => children().length === 0);
});

it('ends a backup during its check', async () => {
  const folder = temporaryFolder();
  const before = contentOf(home);
  const stop = new AbortController();
  const onStage = (stage: string) => {
    // When the check is under way.
    if (stage === 'check') setImmediate(() => stop.abort(new Error('enough')));
  };
  const request = { database, output: join(folder, 'b.db'), onStage, signal: stop.signal };
  await expect(backupDatabase(request, fakeClock())).rejects.toThrow('enough');
  await until('its process is gone', () => children().length === 0);
  expect(readdirSync(folder)).toEqual([]);
  expect(contentOf(home)).toEqual(before);
});
