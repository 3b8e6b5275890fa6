// The lock: one holder, a note that is never trusted.
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { acquireLock } from '../../../src/store/sqlite/lock.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { stamp } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const open = (path: string) => openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });

it('refuses a second holder and lets the next in after release', () => {
  const path = join(temporaryFolder(), 'svc.db');
  const lock = acquireLock(path, stamp());
  expect(() => acquireLock(path, stamp())).toThrow(`The database is in use by process ${process.pid}.`);
  lock.announce('http://[::1]:7423');
  expect(() => acquireLock(path, stamp())).toThrow('answers at http://[::1]:7423.');
  expect(JSON.parse(readFileSync(`${path}.lock.json`, 'utf8'))).toEqual({
    pid: process.pid,
    started_at: stamp(),
    address: 'http://[::1]:7423',
  });
  expect(statSync(`${path}.lock.json`).mode & 0o777).toBe(0o600);
  lock.release();
  lock.release();
  const next = acquireLock(path, stamp());
  next.release();
  expect(() => statSync(`${path}.lock.json`)).toThrow('ENOENT');
});

it.each([
  ['nothing', ''],
  ['null', 'null'],
  ['a list', '[1]'],
  ['an invalid pid', '{"pid":"<b>"}'],
  ['terminal control', '{"address":"\\u001b[2J"}'],
  ['an invalid address', '{"address":{"a":1}}'],
  ['too many bytes', `{"pid":1,"x":"${'x'.repeat(5000)}"}`],
])('names "another process" as the holder when the note holds %s', (_, note) => {
  const path = join(temporaryFolder(), 'svc.db');
  const lock = acquireLock(path, stamp());
  writeFileSync(`${path}.lock.json`, note);
  expect(() => acquireLock(path, stamp())).toThrow(/^The database is in use by another process\.$/);
  lock.release();
});

it('explains a lock file that is not a lock', () => {
  const path = join(temporaryFolder(), 'svc.db');
  writeFileSync(`${path}.lock`, 'not a database, and long enough to be looked at'.repeat(10));
  expect(() => acquireLock(path, stamp())).toThrow('Could not lock the database.');
});

it('uses one lock for all links to one file', async () => {
  const folder = temporaryFolder();
  const store = await open(join(folder, 'svc.db'));
  symlinkSync(join(folder, 'svc.db'), join(folder, 'link.db'));
  await expect(open(join(folder, 'link.db'))).rejects.toMatchObject({ code: 'conflict' });
  await store.close();
  await (await open(join(folder, 'link.db'))).close();
});
