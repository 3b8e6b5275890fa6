// Damage that a call meets is remembered; failures of another kind are not taken for it.
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { ServiceError } from '../../../src/domain/errors.ts';
import { damaged } from '../../../src/store/failures.ts';
import { Condition } from '../../../src/store/sqlite/condition.ts';
import { diskFull, unreadable } from '../../../src/store/sqlite/failures.ts';
import { makeDatabase, openStore } from '../../support/databases.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { temporaryFolder } from '../../support/temporary.ts';
import { until } from '../../support/until.ts';

const PAGE = 4096;

it('a damaged page that one call reads is remembered when all other calls succeed', async () => {
  const path = await makeDatabase(join(temporaryFolder(), 'svc.db'), 'host', 400);
  const store = await openStore(path);
  onTestFinished(() => store.close());
  expect(store.condition()).toEqual({ isChecking: false });
  const file = openSync(path, 'r+');
  const middle = Math.floor(statSync(path).size / PAGE / 2) * PAGE;
  for (let at = middle; at < statSync(path).size; at += PAGE)
    writeSync(file, Buffer.alloc(PAGE, 0xff), 0, PAGE, at);
  // What another connection writes makes the store forget the pages that it had read.
  const raw = new Sqlite(path);
  raw.exec('UPDATE event_ids SET reserved_through = reserved_through + 1');
  raw.close();
  closeSync(file);
  await expect(store.sandboxes.list({ limit: 1000 })).rejects.toMatchObject({ code: 'internal' });
  await store.ping();
  await until('the damage to be confirmed', () => store.condition().damage);
  expect(store.condition().damage).toMatchObject({ message: 'The database file is damaged.' });
});

it('a record that is not JSON counts as damage, too', async () => {
  const path = await makeDatabase(join(temporaryFolder(), 'svc.db'));
  const raw = new Sqlite(path);
  raw.exec("UPDATE sandboxes SET metadata = '[[' WHERE rowid = 3");
  raw.close();
  const store = await openStore(path);
  onTestFinished(() => store.close());
  await expect(store.sandboxes.list({ limit: 1000 })).rejects.toMatchObject({ code: 'internal' });
  expect(store.condition().damage).toBeDefined();
});

it.each([
  ['a failed read', unreadable()],
  ['an error of SQLite', Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' })],
  ['a full disk', diskFull()],
  ['an internal error', new TypeError('x is not a function')],
  ['a refusal', new ServiceError('conflict', 'The record exists already.')],
])('%s does not count as damage', (_, error) => {
  const condition = new Condition(join(temporaryFolder(), 'svc.db'), fakeDeps().logger);
  condition.note(error);
  expect(condition.get()).toEqual({ isChecking: false });
  condition.note(damaged());
  condition.note(error);
  expect(condition.get().damage).toBeDefined();
});
