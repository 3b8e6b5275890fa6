// Sealed secrets in PostgreSQL.
import { fromSecretRow, type SecretRow, toSecretRow } from '../rows.ts';
import type { SecretRecord, SecretStore } from '../seam/secrets.ts';
import type { Statement } from './connection.ts';
import type { Work } from './work.ts';

const COLUMNS = 'name, facts, sealed, created_at, updated_at';
const LIST: Statement = {
  name: 'secrets',
  text: `SELECT ${COLUMNS} FROM secrets WHERE starts_with(name, $1 || '/') ORDER BY name`,
};
const PUT: Statement = {
  name: 'secret-put',
  text: `INSERT INTO secrets (${COLUMNS})
    SELECT $1, $2, $3, $4, $5
      WHERE (SELECT count(*) FROM secrets WHERE name <> $1 AND starts_with(name, split_part($1, '/', 1) || '/')) < $6
    ON CONFLICT (name) DO UPDATE SET facts = excluded.facts, sealed = excluded.sealed, updated_at = excluded.updated_at
    RETURNING ${COLUMNS}`,
};
const ADD: Statement = {
  name: 'secret-add',
  text: `INSERT INTO secrets (${COLUMNS}) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (name) DO UPDATE SET name = secrets.name RETURNING ${COLUMNS}`,
};
const REMOVE: Statement = { name: 'secret-remove', text: 'DELETE FROM secrets WHERE name = $1' };

export function secretStore(work: Work): SecretStore {
  const valuesOf = (secret: SecretRecord) => {
    const { name, facts, sealed, created_at, updated_at } = toSecretRow(secret);
    return [name, facts, sealed, created_at, updated_at];
  };
  return {
    put: async (secret, most) => {
      const values = [...valuesOf(secret), most];
      return (await work.write<SecretRow>({ ...PUT, values })).map(fromSecretRow)[0];
    },
    add: async (secret) =>
      fromSecretRow((await work.write<SecretRow>({ ...ADD, values: valuesOf(secret) }))[0]!),
    remove: async (name) => void (await work.write({ ...REMOVE, values: [name] })),
    list: async (kind) => (await work.read<SecretRow>({ ...LIST, values: [kind] })).map(fromSecretRow),
  };
}
