// Sealed secrets in the database.
import type { Database } from 'better-sqlite3';
import { fromSecretRow, type SecretRow, toSecretRow } from '../rows.ts';
import type { SecretRecord, SecretStore } from '../seam/secrets.ts';
import type { Executor } from './executor.ts';

const COLUMNS = 'name, facts, sealed, created_at, updated_at';
const VALUES = '@name, @facts, @sealed, @created_at, @updated_at';
const SELECT = `SELECT ${COLUMNS} FROM secrets`;

export function secretStore(db: Database, work: Executor): SecretStore {
  const get = db.prepare<[string], SecretRow>(`${SELECT} WHERE name = ?`);
  const all = db.prepare<[string], SecretRow>(`${SELECT} WHERE name LIKE ? || '/%' ORDER BY name`);
  const others = db
    .prepare<[string, string], number>(`SELECT count(*) FROM secrets WHERE name <> ? AND name LIKE ? || '/%'`)
    .pluck();
  const put = db.prepare<SecretRow>(
    `INSERT INTO secrets (${COLUMNS}) VALUES (${VALUES}) ON CONFLICT (name) DO UPDATE
       SET facts = excluded.facts, sealed = excluded.sealed, updated_at = excluded.updated_at`,
  );
  const add = db.prepare<SecretRow>(
    `INSERT INTO secrets (${COLUMNS}) VALUES (${VALUES}) ON CONFLICT (name) DO NOTHING`,
  );
  const remove = db.prepare<[string]>('DELETE FROM secrets WHERE name = ?');
  const putting = db.transaction((secret: SecretRecord, most: number) => {
    const [kind = ''] = secret.name.split('/');
    if ((others.get(secret.name, kind) ?? 0) >= most) return undefined;
    put.run(toSecretRow(secret));
    return fromSecretRow(get.get(secret.name)!);
  });
  const adding = db.transaction((secret: SecretRecord) => {
    add.run(toSecretRow(secret));
    return fromSecretRow(get.get(secret.name)!);
  });
  return {
    put: (secret, most) => work.grow(() => putting.immediate(secret, most)),
    add: (secret) => work.grow(() => adding.immediate(secret)),
    remove: (name) => work.settle(() => void remove.run(name)),
    list: (kind) => work.run(() => all.all(kind).map(fromSecretRow)),
  };
}
