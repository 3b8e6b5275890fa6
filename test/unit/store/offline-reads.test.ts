// The runtimes that a database knows of, read beside a server, and from databases of older programs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { newestEvents, readKnownRuntimes, readValidKeys } from '../../../src/store/sqlite/offline-reads.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { databaseOfVersion } from '../../support/databases.ts';
import { FAKE_START, fakeDeps } from '../../support/fakes/ports.ts';
import { eventDraft, keyRecord } from '../../support/records.ts';
import { temporaryFolder } from '../../support/temporary.ts';

it('lists sandboxes that may have a runtime, also while a server uses the file', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
  const raw = new Sqlite(path);
  const row = `INSERT INTO sandboxes (id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id)
    VALUES (?, ?, ?, 'userspace', 'x', 1, 1, 'none', '', '', '[]', '[]', 'local')`;
  raw.prepare(row).run('sb-a', 2, 'running');
  raw.prepare(row).run('sb-b', 1, 'creating');
  raw.prepare(row).run('sb-c', 1, 'destroyed');
  raw.close();
  const known = readKnownRuntimes(path);
  expect(known?.instance.id).toBe(store.instance.id);
  expect([...(known?.names ?? [])].sort()).toEqual(['sb-a.2', 'sb-b.1']);
  await store.close();
  expect([...(readKnownRuntimes(path)?.names ?? [])]).toHaveLength(2);
});

it('returns nothing for an unused database, and refuses another file', () => {
  const folder = temporaryFolder();
  const raw = new Sqlite(join(folder, 'empty.db'));
  raw.exec('CREATE TABLE other (x)');
  raw.close();
  expect(readKnownRuntimes(join(folder, 'empty.db'))).toBeUndefined();
  writeFileSync(
    join(folder, 'text'),
    'no database at all, but long enough to be looked at by somebody who cares',
  );
  expect(() => readKnownRuntimes(join(folder, 'text'))).toThrow();
  expect(() => readKnownRuntimes(join(folder, 'nowhere'))).toThrow('The file does not exist.');
});

it('reads the newest events, oldest first, with their actors', async () => {
  const path = join(temporaryFolder(), 'svc.db');
  const store = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
  await store.events.append(['ann', 'bob', 'cid'].map((name) => eventDraft({ actor: `key:${name}` })));
  await store.close();
  expect(newestEvents(path, 2).map(({ actor }) => actor)).toEqual(['key:bob', 'key:cid']);
});

it('reads the valid named keys without their hashes', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'svc.db');
  const store = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
  const at = (ms: number) => new Date(FAKE_START + ms).toISOString();
  const bounds = { most: 9, most_of_owner: 9 };
  const made = [
    keyRecord({ name: 'b', scopes: ['admin'], last_used_at: at(-5) }),
    keyRecord({ name: 'a', expires_at: at(1) }),
    keyRecord({ name: 'expired', expires_at: at(0) }),
    keyRecord({ name: 'revoked', revoked_at: at(-1), revoked_by: 'x' }),
  ];
  for (const key of made) await store.keys.create(key, bounds);
  expect(readValidKeys(path, FAKE_START)).toEqual([
    {
      ...{ name: 'a', scopes: ['use'], created_at: made[1]?.created_at },
      ...{ expires_at: at(1), last_used_at: null },
    },
    {
      ...{ name: 'b', scopes: ['admin'], created_at: made[0]?.created_at },
      ...{ expires_at: null, last_used_at: at(-5) },
    },
  ]);
  await store.close();
  databaseOfVersion(join(folder, 'old.db'), 14);
  expect(readValidKeys(join(folder, 'old.db'), FAKE_START)).toEqual([]);
});
