// Migrates a file that no other process has open, and times each migration.

import { storeFailure } from './failures.ts';
import { migrate, SCHEMA_VERSION, schemaVersion } from './migrate.ts';
import Sqlite from './sqlite.ts';

export interface MigratedFile {
  from_version: number;
  to_version: number;
  /** The duration of each applied migration, in order. */
  durations_ms: number[];
}

/** Migrates the database at `path` to this program's schema. `now` in ms. Throws like the store. */
export function migrateFile(path: string, now: () => number): MigratedFile {
  const db = new Sqlite(path, { fileMustExist: true, timeout: 0 });
  try {
    db.pragma('trusted_schema = OFF');
    db.pragma('foreign_keys = ON');
    const from_version = schemaVersion(db);
    const durations_ms: number[] = [];
    for (let version = from_version; version < SCHEMA_VERSION; version++) {
      const started = now();
      migrate(db, version + 1);
      durations_ms.push(Math.round(now() - started));
    }
    return { from_version, to_version: schemaVersion(db), durations_ms };
  } catch (error) {
    throw storeFailure(error);
  } finally {
    db.close();
  }
}
