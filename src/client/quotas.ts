// Owner quotas. Uses the unprefixed paths, which accept an admin key too.
import { ServiceError } from '../domain/errors.ts';
import type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
import type { CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';

export class QuotasClient extends ClientPart {
  /** One page, newest first. */
  async page(
    query: QuotaListQuery = {},
    terms: CallTerms = {},
  ): Promise<{ quotas: Quota[]; next_cursor?: string }> {
    const [quotas, next] = await this.listPage<Quota>('listQuotas', query, terms);
    return { quotas, ...next };
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
  async get(owner_id: string, terms: CallTerms = {}): Promise<Quota> {
    if (owner_id.trim() === 'summary')
      throw new ServiceError('bad_request', 'The owner summary cannot have a quota.', {
        remedy: 'The name is reserved; the defaults apply to this owner.',
      });
    return this.call('getQuota', { params: { owner_id }, ...terms });
  }

  /** Replaces the quota; omitted limits inherit the defaults. */
  set(owner_id: string, quota: QuotaRequest, terms: CallTerms = {}): Promise<Quota> {
    return this.call('putQuota', { params: { owner_id }, json: quota, ...terms });
  }

  async delete(owner_id: string, terms: CallTerms = {}): Promise<void> {
    await this.call('deleteQuota', { params: { owner_id }, ...terms });
  }

  /** Usage and effective limits of the owner. */
  usage(owner_id: string, terms: CallTerms = {}): Promise<QuotaUsage> {
    return this.call('quotaUsage', { params: { owner_id }, ...terms });
  }

  summary(terms: CallTerms = {}): Promise<QuotaSummary> {
    return this.call('quotaSummary', { ...terms });
  }
}
