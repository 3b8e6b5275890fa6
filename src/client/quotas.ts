// Owner quotas. Uses the unprefixed paths, which accept an admin key too.
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

  /** All quotas, newest first. */
  async list(terms: CallTerms = {}): Promise<Quota[]> {
    const all: Quota[] = [];
    for (let query: QuotaListQuery | undefined = {}; query; ) {
      const { quotas, next_cursor } = await this.page(query, terms);
      all.push(...quotas);
      query = next_cursor === undefined ? undefined : { cursor: next_cursor };
    }
    return all;
  }

  /** Rejects for the owner `summary`, whose path is that of the summary. */
  async get(owner_id: string, { signal }: CallTerms = {}): Promise<Quota> {
    if (owner_id.trim() === 'summary')
      throw new ServiceError('bad_request', 'The owner summary cannot have a quota.', {
        remedy: 'The name is reserved; the defaults apply to this owner.',
      });
    return sendForJson(this.#connection, 'getQuota', { params: { owner_id }, signal });
  }

  /** Replaces the quota; omitted limits inherit the defaults. */
  set(owner_id: string, quota: QuotaRequest, { signal }: CallTerms = {}): Promise<Quota> {
    return sendForJson(this.#connection, 'putQuota', { params: { owner_id }, json: quota, signal });
  }

  async delete(owner_id: string, { signal }: CallTerms = {}): Promise<void> {
    await sendForJson(this.#connection, 'deleteQuota', { params: { owner_id }, signal });
  }

  /** Usage and effective limits of the owner. */
  usage(owner_id: string, { signal }: CallTerms = {}): Promise<QuotaUsage> {
    return sendForJson(this.#connection, 'quotaUsage', { params: { owner_id }, signal });
  }

  summary({ signal }: CallTerms = {}): Promise<QuotaSummary> {
    return sendForJson(this.#connection, 'quotaSummary', { signal });
  }
}
