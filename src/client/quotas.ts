// Owner quotas through the API. Reads and writes the unprefixed paths: an admin key counts there too.
import { ServiceError } from '../domain/errors.ts';
import type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
import { type CallTerms, type Connection, readJson, send, sendForJson } from './call.ts';

export class QuotasClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** One page, newest first. */
  async page(
    query: QuotaListQuery = {},
    { signal }: CallTerms = {},
  ): Promise<{ quotas: Quota[]; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listQuotas', { query, signal });
    const next = answer.headers['x-next-cursor'];
    const quotas = await readJson<Quota[]>(answer, signal);
    return typeof next === 'string' ? { quotas, next_cursor: next } : { quotas };
  }

  /** All of them, newest first. */
  async list(terms: CallTerms = {}): Promise<Quota[]> {
    const all: Quota[] = [];
    for (let query: QuotaListQuery | undefined = {}; query; ) {
      const { quotas, next_cursor } = await this.page(query, terms);
      all.push(...quotas);
      query = next_cursor === undefined ? undefined : { cursor: next_cursor };
    }
    return all;
  }

  /** Rejects for `summary`, an owner that cannot have a quota: its path is that of the summary of all. */
  async get(owner_id: string, { signal }: CallTerms = {}): Promise<Quota> {
    if (owner_id.trim() === 'summary')
      throw new ServiceError('bad_request', 'The owner summary cannot have a quota.', {
        remedy: 'The name is reserved: the defaults are in force for this owner.',
      });
    return sendForJson(this.#connection, 'getQuota', { params: { owner_id }, signal });
  }

  /** Replaces it whole: what is omitted inherits the default. */
  set(owner_id: string, quota: QuotaRequest, { signal }: CallTerms = {}): Promise<Quota> {
    return sendForJson(this.#connection, 'putQuota', { params: { owner_id }, json: quota, signal });
  }

  async delete(owner_id: string, { signal }: CallTerms = {}): Promise<void> {
    await sendForJson(this.#connection, 'deleteQuota', { params: { owner_id }, signal });
  }

  /** What the owner uses, and the limits in force. */
  usage(owner_id: string, { signal }: CallTerms = {}): Promise<QuotaUsage> {
    return sendForJson(this.#connection, 'quotaUsage', { params: { owner_id }, signal });
  }

  summary({ signal }: CallTerms = {}): Promise<QuotaSummary> {
    return sendForJson(this.#connection, 'quotaSummary', { signal });
  }
}
