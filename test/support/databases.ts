// Database files for tests of what is done with them: closed ones, ones whose server was killed, and their contents.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { migrate } from '../../src/store/sqlite/migrate.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open.ts';
import { fakeDeps } from './fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from './records.ts';
import { temporaryFolder } from './temporary.ts';

export const openStore = (path: string): Promise<SqliteStore> =>
  openSqliteStore({ ...fakeDeps(), path, synchronous: 'normal' });

/** A closed database at `path` with `rows` sandboxes whose image is `mark`. */
export async function makeDatabase(path: string, mark = 'host', rows = 20): Promise<string> {
  const store = await openStore(path);
  await fill(store, mark, rows);
  await store.close();
  return path;
}

/** As `makeDatabase`, but as a killed server leaves it: what it holds is in the log beside it. */
export async function makeUnclosed(path: string, mark = 'host', rows = 20): Promise<string> {
  const origin = join(temporaryFolder(), 'origin.db');
  const store = await openStore(origin);
  await fill(store, mark, rows);
  for (const end of ['', '-wal']) copyFileSync(origin + end, path + end);
  await store.close();
  return path;
}

async function fill(store: SqliteStore, mark: string, rows: number): Promise<void> {
  const events = [eventDraft()];
  for (let n = 0; n < rows; n++)
    await store.sandboxes.reserve({
      sandbox: sandboxRecord({ image: mark, metadata: { n: 'x'.repeat(500) } }),
      limits: NO_CAP,
      events,
    });
}

/** Images of the sandboxes in the database, with how many there are of each: `20 old`. */
export function marksIn(path: string): string[] {
  const db = new Sqlite(path, { fileMustExist: true });
  try {
    if (db.pragma('integrity_check', { simple: true }) !== 'ok') return ['damaged'];
    return db
      .prepare<[], string>("SELECT count(*) || ' ' || image FROM sandboxes GROUP BY image ORDER BY image")
      .pluck()
      .all();
  } finally {
    db.close();
  }
}

/** Name → hash of every file in `folder`. */
export function contentOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(names.map((name) => [name, hashOf(join(folder, name))]));
}

export const hashOf = (path: string): string =>
  existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'absent';

const AT = '2026-01-01T00:00:00.000Z';
/** Rows that a program of that version wrote, by the version from which on their table is there. */
const ROWS_OF: Record<number, string> = {
  1: `INSERT INTO instance VALUES ('11111111-2222-4333-8444-555555555555', '${'ab'.repeat(32)}', '${AT}');
      UPDATE event_ids SET reserved_through = 10000;
      INSERT INTO events VALUES (1, 'sandbox.created', '${AT}', 'sb-a', 'me', NULL);
      INSERT INTO sandboxes (id, epoch, state, provider, image, memory_mb, vcpus, network, created_at, expires_at, metadata, env, worker_id, owner_id)
        VALUES ('sb-a', 1, 'running', 'userspace', 'host', 256, 1, 'default', '${AT}', '${AT}', '[]', '[["A","b"]]', 'local', 'me'),
               ('sb-b', 2, 'destroyed', 'container', 'alpine', 256, 1, 'none', '${AT}', '${AT}', '[["k","v"]]', '[]', 'local', NULL);
      INSERT INTO idempotency VALUES ('me', 'k', 'f', 'sb-a', '{}', '${AT}');`,
  2: `INSERT INTO owner_quotas VALUES ('me', 5, '1h', '0s', '${AT}', '${AT}');`,
  3: `INSERT INTO audit VALUES (7, 'admin', NULL, 'GET', '/x', 200, 1.5, 'r', '127.0.0.1', NULL, '${AT}');`,
  4: `INSERT INTO templates VALUES ('t', NULL, 1, 'host', NULL, 256, 1, '30m', NULL, '[]', '[]', '["true"]', 0, '${AT}', '${AT}');`,
  15: `INSERT INTO keys (id, name, hash, prefix, owner_id, scopes, created_at, created_by)
        VALUES ('key-aaaaaaaaaaaa', 'ci', '${'0f'.repeat(32)}', 'svc_abcd', 'me', '["use"]', '${AT}', 'admin:X-Admin-API-Key');`,
  5: `INSERT INTO pool_vms VALUES ('vm-a', 'userspace', 'running', 'host', 512, 2, '${AT}', 0, '[]', NULL);`,
};

/** A database as the program of an older schema version leaves it, with rows in its tables. */
export function databaseOfVersion(path: string, version: number): void {
  const db = new Sqlite(path);
  db.pragma('journal_mode = WAL');
  for (let at = 1; at <= version; at++) {
    migrate(db, at);
    db.exec(ROWS_OF[at] ?? '');
  }
  db.close();
}
