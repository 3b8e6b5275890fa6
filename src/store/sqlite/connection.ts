// The settings of every connection to a server's database.
import type { Database } from 'better-sqlite3';
import { ServiceError } from '../../domain/errors.ts';

/** `full` survives a power failure. */
export type Synchronous = 'full' | 'normal';

/** Throws `unavailable` if the folder cannot hold a log. */
export function configure(db: Database, synchronous: Synchronous): void {
  if (db.pragma('journal_mode = WAL', { simple: true }) !== 'wal')
    throw new ServiceError('unavailable', 'The database folder does not support a write-ahead log.', {
      remedy: 'Put database.path on a local disk.',
    });
  db.pragma(`synchronous = ${synchronous}`);
  db.pragma('foreign_keys = ON');
  // A damaged or hostile file must not run code (sqlite.org, "defense against the dark arts").
  db.pragma('trusted_schema = OFF');
}
