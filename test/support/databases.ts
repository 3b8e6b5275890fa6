// Database files for tests of what is done with them: closed ones, ones whose server was killed, and their contents.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite/open.ts';
import { fakeDeps } from './fakes.ts';
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
    await store.sandboxes.reserve(
      sandboxRecord({ image: mark, metadata: { n: 'x'.repeat(500) } }),
      NO_CAP,
      events,
    );
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
