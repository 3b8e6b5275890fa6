// Sessions of the console in PostgreSQL. Each change raises the counter of changes of keys in the same statement; a repetition
// raises it again, which is harmless.
import { fromSessionRow, type SessionRow, toSessionRow } from '../rows.ts';
import type { SessionStore } from '../seam/sessions.ts';
import type { Statement } from './connection.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS = 'id, hash, parent, actor, owner_id, scopes, created_at, expires_at, ends_at';
const CHANGED = 'UPDATE key_changes SET changes = changes + 1';
const REMOVED = 'DELETE FROM sessions WHERE id IN (SELECT jsonb_array_elements_text($1::jsonb))';
const ALL: Statement = { name: 'sessions', text: `SELECT ${COLUMNS} FROM sessions` };
const OPEN: Statement = {
  name: 'session-open',
  text: `WITH ended AS (${REMOVED}), made AS (
      INSERT INTO sessions (${COLUMNS}) SELECT ${COLUMNS} FROM jsonb_populate_record(NULL::sessions, $2::jsonb)
        ON CONFLICT (id) DO NOTHING)
    ${CHANGED}`,
};
const RENEW: Statement = {
  name: 'session-renew',
  text: `WITH renewed AS (UPDATE sessions SET expires_at = $2 WHERE id = $1 RETURNING 1)
    ${CHANGED} WHERE EXISTS (SELECT 1 FROM renewed) RETURNING 1`,
};
const END: Statement = { name: 'session-end', text: `WITH ended AS (${REMOVED}) ${CHANGED}` };
const TAKE: Statement = {
  name: 'session-take',
  text: `WITH taken AS (UPDATE sessions SET hash = $3 WHERE hash IN ($1, $3) AND expires_at > $2 RETURNING ${COLUMNS}),
      changed AS (${CHANGED} WHERE EXISTS (SELECT 1 FROM taken) RETURNING 1)
    SELECT ${COLUMNS} FROM taken, changed`,
};

export function sessionStore(work: Work): SessionStore {
  return {
    open: async (session, ended) => {
      const values = [encodeJson(ended), encodeJson(toSessionRow(session))];
      await work.write({ ...OPEN, values });
    },
    take: async (hash, now, as) =>
      (await work.write<SessionRow>({ ...TAKE, values: [hash, now, as] })).map(fromSessionRow)[0],
    renew: async (id, expires_at) => (await work.write({ ...RENEW, values: [id, expires_at] })).length > 0,
    end: async (ids) => void (await work.write({ ...END, values: [encodeJson(ids)] })),
    all: async () => (await work.read<SessionRow>(ALL)).map(fromSessionRow),
  };
}
