// How every connection to the database of a server is set.
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';

/** `full` survives a power cut. */
export type Synchronous = 'full' | 'normal';

/** Throws `unavailable` where the folder cannot hold a log. */
export function configure(db: Database, synchronous: Synchronous): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new ServiceError('unavailable', 'The database folder cannot hold a write-ahead log.', {
      remedy: 'Put database.path on a local disk.',
    });
  db.pragma(`synchronous = ${synchronous}`);
  db.pragma('foreign_keys = ON');
  // A damaged or hostile file must not run what it says (sqlite.org, "defense against the dark arts").
  db.pragma('trusted_schema = OFF');
}
