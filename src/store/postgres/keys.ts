// Named keys in PostgreSQL. Each change raises the counter of changes in the same transaction.
import { fromKeyRow, type KeyRow } from '../rows.ts';
import type { KeyStore } from '../seam/keys.ts';
import type { Statement } from './connection.ts';
import { sweep } from './sweeps.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS = `id, name, hash, previous_hash, previous_until, prefix, owner_id, scopes, created_at, created_by, expires_at,
  last_used_at, rotated_at, revoked_at, revoked_by`;

const SELECT = `SELECT ${COLUMNS} FROM keys`;
const GET: Statement = { name: 'key', text: `${SELECT} WHERE id = $1` };
const FIND: Statement = {
  name: 'key-find',
  text: `${SELECT} WHERE id = $1 OR name = $1
    ORDER BY id <> $1, revoked_at IS NOT NULL, created_at DESC, id DESC LIMIT 1`,
};
const FIRST: Statement = { name: 'keys-first', text: `${SELECT} ORDER BY created_at DESC, id DESC LIMIT $1` };
const NEXT: Statement = {
  name: 'keys-next',
  text: `${SELECT} WHERE (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $1`,
};
const ALL: Statement = { name: 'keys-all', text: SELECT };
const CHANGES: Statement = { name: 'key-changes', text: 'SELECT changes FROM key_changes' };
const CREATE: Statement = {
  name: 'key-create',
  text: 'SELECT svc_create_key_17($1::jsonb, $2, $3, $4, $5) AS kind',
};
const ROTATE: Statement = {
  name: 'key-rotate',
  text: 'SELECT svc_rotate_key_17($1, $2, $3::jsonb, $4, $5) AS done',
};
const REVOKE: Statement = { name: 'key-revoke', text: 'SELECT svc_revoke_key_17($1, $2, $3, $4)::text' };
const USED: Statement = {
  name: 'key-used',
  text: `UPDATE keys SET last_used_at = use.at FROM jsonb_to_recordset($1::jsonb) AS use (id text, at text)
    WHERE keys.id = use.id AND (last_used_at IS NULL OR last_used_at < use.at COLLATE "C")`,
};
const PURGE: Statement = { name: 'keys-purge', text: 'SELECT svc_purge_keys_17($1, $2) AS deleted' };

export function keyStore(work: Work): KeyStore {
  const one = async (statement: Statement) => {
    const [row] = await work.read<KeyRow>(statement);
    return row && fromKeyRow(row);
  };
  return {
    create: async (key, { most, most_of_owner }) => {
      const record = encodeJson({ ...key, scopes: JSON.stringify(key.scopes) });
      const [row] = await work.once<{ kind: Awaited<ReturnType<KeyStore['create']>> }>({
        ...CREATE,
        values: [record, most, most_of_owner],
      });
      return row!.kind;
    },
    rotate: async (id, from, rotation) => {
      const values = [id, from, encodeJson(rotation)];
      const [row] = await work.once<{ done: boolean }>({ ...ROTATE, values });
      return row?.done ? one({ ...GET, values: [id] }) : undefined;
    },
    revoke: async (id, { at, by, kept }) => {
      await work.write({ ...REVOKE, values: [id, at, by, kept] });
      return one({ ...GET, values: [id] });
    },
    used: async (uses) => void (await work.write({ ...USED, values: [encodeJson(uses)] })),
    purge: (before) => sweep(work, PURGE, [before]),
    find: (text) => one({ ...FIND, values: [text] }),
    list: async (limit, after) => {
      const statement = after
        ? { ...NEXT, values: [limit, after.created_at, after.id] }
        : { ...FIRST, values: [limit] };
      return (await work.read<KeyRow>(statement)).map(fromKeyRow);
    },
    all: async () => (await work.read<KeyRow>(ALL)).map(fromKeyRow),
    changes: async () => (await work.read<{ changes: number }>(CHANGES))[0]?.changes ?? 0,
  };
}
