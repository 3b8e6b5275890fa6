// Which shared templates carry an environment, read without a server and without changing the file: every owner can read
// those values in a sandbox of the template. Before schema version 7 all templates were shared.
import { withReader } from './reader.ts';

/** Names in order. Throws `not_found` when there is no file, else as the store does. */
export function readSharedSecrets(path: string): string[] {
  return withReader(path, (db) => {
    const columns = db.prepare<[], string>("SELECT name FROM pragma_table_info('templates')").pluck().all();
    if (columns.length === 0) return [];
    const shared = columns.includes('owner_id') ? "AND owner_id = ''" : '';
    return db
      .prepare<[], string>(`SELECT name FROM templates WHERE env <> '[]' ${shared} ORDER BY name`)
      .pluck()
      .all();
  });
}
