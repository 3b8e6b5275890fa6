// Named keys. Needs an admin key. `key` is a name or an id.
import type { Key, KeyCreate, KeyListQuery, KeyRotate, KeyWithSecret } from '../schema/key.ts';
import { type CallTerms, type Connection, readJson, send, sendForJson } from './call.ts';

export class KeysClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The answer alone holds the key, as `secret`. A repeat is a conflict, because the name is in use. */
  create(request: KeyCreate, terms: CallTerms = {}): Promise<KeyWithSecret> {
    return sendForJson(this.#connection, 'createKey', { json: request, ...terms });
  }

  /** One page, newest first. */
  async page(
    query: KeyListQuery = {},
    terms: CallTerms = {},
  ): Promise<{ keys: Key[]; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listKeys', { query, ...terms });
    const next = answer.headers['x-next-cursor'];
    const keys = await readJson<Key[]>(answer, terms.signal);
    return typeof next === 'string' ? { keys, next_cursor: next } : { keys };
  }

  /** All keys, newest first. */
  async list(terms: CallTerms = {}): Promise<Key[]> {
    const all: Key[] = [];
    for (let query: KeyListQuery | undefined = { limit: 1000 }; query; ) {
      const { keys, next_cursor } = await this.page(query, terms);
      all.push(...keys);
      query = next_cursor === undefined ? undefined : { limit: 1000, cursor: next_cursor };
    }
    return all;
  }

  get(key: string, terms: CallTerms = {}): Promise<Key> {
    return sendForJson(this.#connection, 'getKey', { params: { key }, ...terms });
  }

  /** The answer alone holds the new key, as `secret`. The previous key stays valid for the overlap, 24h by default. */
  rotate(key: string, request: KeyRotate = {}, terms: CallTerms = {}): Promise<KeyWithSecret> {
    return sendForJson(this.#connection, 'rotateKey', { params: { key }, json: request, ...terms });
  }

  /** The key ends within 2 s, with the streams and terminals that it opened. */
  revoke(key: string, terms: CallTerms = {}): Promise<Key> {
    return sendForJson(this.#connection, 'revokeKey', { params: { key }, ...terms });
  }
}
