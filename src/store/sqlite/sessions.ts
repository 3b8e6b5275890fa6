// Sessions of the console in the database. Each change raises the counter of changes of keys in the same transaction.
import type { Database } from 'better-sqlite3';
import { fromSessionRow, type SessionRow, toSessionRow } from '../rows.ts';
import type { SessionRecord, SessionStore } from '../seam/sessions.ts';
import type { Executor } from './executor.ts';

const COLUMNS = 'id, hash, parent, actor, owner_id, scopes, created_at, expires_at, ends_at';
const VALUES = '@id, @hash, @parent, @actor, @owner_id, @scopes, @created_at, @expires_at, @ends_at';

export function sessionStore(db: Database, work: Executor): SessionStore {
  const all = db.prepare<[], SessionRow>(`SELECT ${COLUMNS} FROM sessions`);
  const add = db.prepare<SessionRow>(
    `INSERT INTO sessions (${COLUMNS}) VALUES (${VALUES}) ON CONFLICT (id) DO NOTHING`,
  );
  const renew = db.prepare<[string, string]>('UPDATE sessions SET expires_at = ? WHERE id = ?');
  const remove = db.prepare<[string]>('DELETE FROM sessions WHERE id = ?');
  const take = db.prepare<[string, string, string, string], SessionRow>(
    `UPDATE sessions SET hash = ? WHERE hash IN (?, ?) AND expires_at > ? RETURNING ${COLUMNS}`,
  );
  const changed = db.prepare('UPDATE key_changes SET changes = changes + 1');
  const opening = db.transaction((session: SessionRecord, ended: readonly string[]) => {
    for (const id of ended) remove.run(id);
    add.run(toSessionRow(session));
    changed.run();
  });
  const renewing = db.transaction((id: string, expires_at: string) => {
    if (renew.run(expires_at, id).changes === 0) return false;
    changed.run();
    return true;
  });
  const ending = db.transaction((ids: readonly string[]) => {
    for (const id of ids) remove.run(id);
    changed.run();
  });
  const taking = db.transaction((hash: string, now: string, as: string) => {
    const [row] = take.all(as, hash, as, now);
    if (row) changed.run();
    return row && fromSessionRow(row);
  });
  return {
    take: (hash, now, as) => work.settle(() => taking.immediate(hash, now, as)),
    open: (session, ended) => work.grow(() => opening.immediate(session, ended)),
    renew: (id, expires_at) => work.settle(() => renewing.immediate(id, expires_at)),
    end: (ids) => work.settle(() => ending.immediate(ids)),
    all: () => work.run(() => all.all().map(fromSessionRow)),
  };
}
