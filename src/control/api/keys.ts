// Named keys: what administrators do with them, and how the edges find them.
import type { NamedKey } from '../../domain/access.ts';
import type { Key, KeyCreate, KeyListQuery, KeyRotate, KeyWithSecret } from '../../schema/key.ts';
import type { Caller } from './caller.ts';

/** `key` is an id or a name. A name means the key that is not revoked, otherwise the newest revoked one. */
export interface Keys {
  /**
   * The answer alone holds the key. Throws `bad_request` for a key of one owner with the scope admin, `conflict` for a name
   * in use, `resource_limit` for a key too many.
   */
  create(request: KeyCreate, caller: Caller): Promise<KeyWithSecret>;
  /** Newest first, also expired and revoked ones for 30 days. */
  list(query: KeyListQuery): Promise<{ keys: Key[]; next_cursor?: string }>;
  get(key: string): Promise<Key>;
  /**
   * Gives the key a new text; the previous one stays valid for the overlap. Throws `conflict` for a revoked key, for an
   * expired one without a new `ttl`, and while a rotation is open, unless nothing is to overlap or `replace` is set.
   */
  rotate(key: string, request: KeyRotate): Promise<KeyWithSecret>;
  /** Idempotent while the revoked key is listed. */
  revoke(key: string, caller: Caller): Promise<Key>;
}

/**
 * Named keys as they are found without waiting. Changes that another process makes show within 2 s, or after `refresh`, those of
 * this one at once.
 */
export interface NamedKeys {
  /** Whether other processes make keys, too. */
  readonly areShared: boolean;
  /** Resolves when what other processes made before the call is known, or cannot be read. Reads ten times a second at most. */
  refresh(): Promise<void>;
  /** Grows when a key may have ended or changed: what was proved before has to be proved again. */
  readonly version: number;
  /** The key that is valid now and has a text with this SHA-256 digest. */
  find(digest: Buffer): NamedKey | undefined;
  /** Whether the time of a key that `find` returned at this version has come. */
  isOver(key: NamedKey): boolean;
  /** Why the text with this digest is not valid any more; undefined for one that is valid or unknown. */
  endOf(digest: Buffer): KeyEnd | undefined;
  /** Notes a use; it is stored within a minute. */
  used(id: string): void;
  /** Calls `listener` when a key may have ended. */
  watch(listener: () => void): void;
}

export type KeyEnd = 'revoked' | 'expired' | 'replaced';
