// Owner quotas. Uses the unprefixed paths, which accept an admin key too.
import { ServiceError } from '../domain/errors.ts';
import type {
  OwnerListQuery,
  Quota,
  QuotaCheck,
  QuotaListQuery,
  QuotaRequest,
  QuotaSummary,
  QuotaUsage,
} from '../schema/quota.ts';
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

  /** What `set` would change; changes nothing. */
  check(owner_id: string, quota: QuotaRequest, terms: CallTerms = {}): Promise<QuotaCheck> {
    return this.call('checkQuota', { params: { owner_id }, json: quota, ...terms });
  }

  /** One page of all owners, by name; needs an admin key. With `q` a page may be empty and still name the next one. */
  async ownersPage(
    query: OwnerListQuery = {},
    terms: CallTerms = {},
  ): Promise<{ owners: QuotaUsage[]; next_cursor?: string }> {
    const [owners, next] = await this.listPage<QuotaUsage>('listOwners', query, terms);
    return { owners, ...next };
  }

  /** All owners whose name has the text `q`, by name; needs an admin key. */
  async *owners({ q }: Pick<OwnerListQuery, 'q'> = {}, terms: CallTerms = {}): AsyncGenerator<QuotaUsage> {
    const filter = { limit: 1000, ...(q !== undefined && { q }) };
    for (let query: OwnerListQuery | undefined = filter; query; ) {
      const { owners, next_cursor } = await this.ownersPage(query, terms);
      yield* owners;
      query = next_cursor === undefined ? undefined : { ...filter, cursor: next_cursor };
    }
  }

  summary(terms: CallTerms = {}): Promise<QuotaSummary> {
    return this.call('quotaSummary', { ...terms });
  }
}
