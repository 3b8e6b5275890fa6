// THE STORE SEAM: named keys. store.ts has the rules for all tables. Only hashes are stored: nobody can read a key back.
import type { KeyScope } from '../../schema/key-words.ts';

export interface KeyRecord {
  id: string;
  /** Unique among keys that are not revoked. */
  name: string;
  /** SHA-256 of the key in hex. */
  hash: string;
  /** The hash before the last rotation, valid until `previous_until`. */
  previous_hash?: string;
  previous_until?: string;
  /** The first characters of the key, for display. */
  prefix: string;
  /** The only owner that the key acts for; absent: all. */
  owner_id?: string;
  scopes: readonly KeyScope[];
  created_at: string;
  created_by: string;
  expires_at?: string;
  last_used_at?: string;
  rotated_at?: string;
  revoked_at?: string;
  revoked_by?: string;
}

/** How many keys that are not revoked there may be, and how many of them of one owner. */
export interface KeyBounds {
  most: number;
  most_of_owner: number;
}

/** What a rotation changes. A value of null removes. */
export interface KeyRotation {
  hash: string;
  prefix: string;
  rotated_at: string;
  previous_hash: string | null;
  previous_until: string | null;
  expires_at: string | null;
}

export interface KeyPosition {
  created_at: string;
  id: string;
}

export interface KeyStore {
  /** Adds nothing when the name is taken or a bound is reached. */
  create(key: KeyRecord, bounds: KeyBounds): Promise<'created' | 'taken' | 'full' | 'owner_full'>;
  /** Changes the key only while its hash is `from` and it is not revoked; otherwise undefined. */
  rotate(id: string, from: string, rotation: KeyRotation): Promise<KeyRecord | undefined>;
  /**
   * Returns the revoked key, also when it was revoked before; undefined if there is none. Keeps the newest `kept` revoked
   * keys.
   */
  revoke(id: string, revoked: { at: string; by: string; kept: number }): Promise<KeyRecord | undefined>;
  /** Notes the last uses. Keys that have none of these ids are skipped, and a time never goes back. */
  used(uses: readonly { id: string; at: string }[]): Promise<void>;
  /** Deletes keys that were revoked or that expired before the time. Resolves with their number. */
  purge(before: string): Promise<number>;
  /** The key of this id, otherwise the valid one of this name, otherwise the newest revoked one of this name. */
  find(id_or_name: string): Promise<KeyRecord | undefined>;
  /** Newest first (created_at, then id, both descending), starting after `after`. */
  list(limit: number, after?: KeyPosition): Promise<KeyRecord[]>;
  /** All keys, in no order. */
  all(): Promise<KeyRecord[]>;
  /** Grows with each change of a key, apart from its last use: who keeps keys in memory reads them again then. */
  changes(): Promise<number>;
}
