// THE STORE SEAM: sessions of the console. store.ts has the rules for all tables. Only the hash of a token is stored.
import type { KeyScope } from '../../schema/key-words.ts';

export interface SessionRecord {
  id: string;
  /** SHA-256 of the token in hex. */
  hash: string;
  /** The credential that opened the session: the id of a named key, or the hash that stands for a configured one. */
  parent: string;
  /** The actor of that credential. */
  actor: string;
  /** The only owner that the session acts for; absent: all. */
  owner_id?: string;
  scopes: readonly KeyScope[];
  created_at: string;
  /** When it ends unless it is renewed. */
  expires_at: string;
  /** When it ends in any case. */
  ends_at: string;
}

/** Every change raises the counter of `KeyStore.changes`: who keeps sessions in memory reads them again then. */
export interface SessionStore {
  /** Adds the session and removes those of `ended`. Idempotent. */
  open(session: SessionRecord, ended: readonly string[]): Promise<void>;
  /** Sets the time of expiry. False if there is no such session. */
  renew(id: string, expires_at: string): Promise<boolean>;
  /** Removes sessions. Ids that do not exist are skipped. */
  end(ids: readonly string[]): Promise<void>;
  /**
   * Gives the session with this hash that has not expired at `now` the hash `as`, which nobody else knows, and returns it: of several
   * callers one gets it. A repetition with the same `as` gets it again.
   */
  take(hash: string, now: string, as: string): Promise<SessionRecord | undefined>;
  /** All sessions, in no order. */
  all(): Promise<SessionRecord[]>;
}
