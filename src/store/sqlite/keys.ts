// Named keys in the database. Each change raises the counter of changes in the same transaction.
import type { Database } from 'better-sqlite3';
import { fromKeyRow, type KeyRow } from '../rows.ts';
import type { KeyBounds, KeyRecord, KeyRotation, KeyStore } from '../seam/keys.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';

const COLUMNS = [
  'id',
  'name',
  'hash',
  'previous_hash',
  'previous_until',
  'prefix',
  'owner_id',
  'scopes',
  'created_at',
  'created_by',
  'expires_at',
  'last_used_at',
  'rotated_at',
  'revoked_at',
  'revoked_by',
] as const satisfies readonly (keyof KeyRecord)[];

const SELECT = `SELECT ${COLUMNS} FROM keys`;

export function keyStore(db: Database, work: Executor): KeyStore {
  return Object.assign(keyQueries(db, work), keyWrites(db, work));
}

type Queries = Pick<KeyStore, 'find' | 'list' | 'all' | 'changes'>;

function keyQueries(db: Database, work: Executor): Queries {
  const get = db.prepare<[string], KeyRow>(`${SELECT} WHERE id = ?`);
  const named = db.prepare<[string], KeyRow>(
    `${SELECT} WHERE name = ? ORDER BY revoked_at IS NOT NULL, created_at DESC, id DESC LIMIT 1`,
  );
  const first = db.prepare<[number], KeyRow>(`${SELECT} ORDER BY created_at DESC, id DESC LIMIT ?`);
  const next = db.prepare<[string, string, number], KeyRow>(
    `${SELECT} WHERE (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`,
  );
  const all = db.prepare<[], KeyRow>(SELECT);
  const changes = db.prepare<[], number>('SELECT changes FROM key_changes').pluck();
  return {
    find: (text) => work.run(() => recordOf(get.get(text) ?? named.get(text))),
    list: (limit, after) =>
      work.run(() =>
        (after ? next.all(after.created_at, after.id, limit) : first.all(limit)).map(fromKeyRow),
      ),
    all: () => work.run(() => all.all().map(fromKeyRow)),
    changes: () => work.run(() => changes.get() ?? 0),
  };
}

function keyWrites(db: Database, work: Executor): Omit<KeyStore, keyof Queries> {
  const get = db.prepare<[string], KeyRow>(`${SELECT} WHERE id = ?`);
  const changed = db.prepare('UPDATE key_changes SET changes = changes + 1');
  const creating = createdIn(db, changed);
  const rotate = db.prepare<KeyRotation & { id: string; from: string }>(
    `UPDATE keys SET hash = @hash, prefix = @prefix, rotated_at = @rotated_at, previous_hash = @previous_hash,
       previous_until = @previous_until, expires_at = @expires_at
       WHERE id = @id AND hash = @from AND revoked_at IS NULL`,
  );
  const rotating = db.transaction((id: string, from: string, rotation: KeyRotation) => {
    if (rotate.run(Object.assign({ id, from }, rotation)).changes === 0) return undefined;
    changed.run();
    return recordOf(get.get(id));
  });
  const revoke = db.prepare(
    'UPDATE keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL',
  );
  const forget = db.prepare(
    `DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE revoked_at IS NOT NULL
       ORDER BY revoked_at DESC, id DESC LIMIT -1 OFFSET ?)`,
  );
  const revoking = db.transaction((id: string, { at, by, kept }: Parameters<KeyStore['revoke']>[1]) => {
    if (revoke.run(at, by, id).changes > 0) {
      changed.run();
      forget.run(kept);
    }
    return recordOf(get.get(id));
  });
  const use = db.prepare(
    'UPDATE keys SET last_used_at = @at WHERE id = @id AND (last_used_at IS NULL OR last_used_at < @at)',
  );
  const using = db.transaction((uses: readonly { id: string; at: string }[]) => {
    for (const one of uses) use.run(one);
  });
  const purge = db.prepare<{ before: string; limit: number }>(
    `DELETE FROM keys WHERE id IN (SELECT id FROM keys
       WHERE revoked_at < @before OR expires_at < @before ORDER BY created_at, id LIMIT @limit)`,
  );
  const purging = db.transaction((before: string) => {
    const gone = purge.run({ before, limit: SWEEP_ROWS }).changes;
    if (gone > 0) changed.run();
    return gone;
  });
  return {
    create: (key, bounds) => work.grow(() => creating.immediate(key, bounds)),
    rotate: (...args) => work.settle(() => rotating.immediate(...args)),
    revoke: (...args) => work.settle(() => revoking.immediate(...args)),
    used: (uses) => work.settle(() => using.immediate(uses)),
    purge: (before) => work.settle(() => purging.immediate(before)),
  };
}

function createdIn(db: Database, changed: { run(): unknown }) {
  const named = db
    .prepare<[string], number>('SELECT 1 FROM keys WHERE name = ? AND revoked_at IS NULL')
    .pluck();
  const count = db.prepare<[], number>('SELECT count(*) FROM keys WHERE revoked_at IS NULL').pluck();
  const owned = db
    .prepare<[string], number>('SELECT count(*) FROM keys WHERE owner_id = ? AND revoked_at IS NULL')
    .pluck();
  const insert = db.prepare<KeyRow>(
    `INSERT INTO keys (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  return db.transaction((key: KeyRecord, { most, most_of_owner }: KeyBounds) => {
    if (named.get(key.name) !== undefined) return 'taken';
    if ((count.get() ?? 0) >= most) return 'full';
    if (key.owner_id !== undefined && (owned.get(key.owner_id) ?? 0) >= most_of_owner) return 'owner_full';
    insert.run(toRow(key));
    changed.run();
    return 'created';
  });
}

function toRow(key: KeyRecord): KeyRow {
  const values = COLUMNS.map((column): [string, unknown] => [column, key[column] ?? null]);
  return Object.assign(Object.fromEntries(values) as KeyRow, { scopes: JSON.stringify(key.scopes) });
}

const recordOf = (row: KeyRow | undefined): KeyRecord | undefined => row && fromKeyRow(row);
