// Base of the parts of the client.
import type { RouteId } from '../http/paths.ts';
import {
  type CallOptions,
  type ClientAnswer,
  type Connection,
  nextOf,
  readJson,
  send,
  sendForJson,
} from './call.ts';
import { followedLines } from './lines.ts';

export abstract class ClientPart {
  /** Holds the keys: private, so that a printed client does not show them. */
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  protected call<T>(id: RouteId, options: CallOptions = {}): Promise<T> {
    return sendForJson(this.#connection, id, options);
  }

  protected send(id: RouteId, options: CallOptions = {}): Promise<ClientAnswer> {
    return send(this.#connection, id, options);
  }

  protected follow<T>(id: RouteId, options: CallOptions): AsyncGenerator<T> {
    return followedLines<T>(this.#connection, id, options);
  }

  /** One page of a list, and the cursor of the next. */
  protected async listPage<T>(
    id: RouteId,
    query: NonNullable<CallOptions['query']>,
    terms: Omit<CallOptions, 'query'>,
  ): Promise<[T[], { next_cursor?: string }]> {
    const answer = await this.send(id, { query, ...terms });
    return [await readJson<T[]>(answer, terms.signal), nextOf(answer)];
  }
}
