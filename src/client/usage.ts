// What sandboxes use.
import type {
  LiveUsage,
  LiveUsageQuery,
  OwnersUsageQuery,
  SandboxUsage,
  SandboxUsageQuery,
  SandboxUsageRow,
  UsageQuery,
  UsageReport,
  UsageSandboxesQuery,
} from '../schema/usage.ts';
import { type CallTerms, readText } from './call.ts';
import { ClientPart } from './client-part.ts';

/** Rows of a year by hour. */
const MAX_CSV_BYTES = 64 * 1024 * 1024;

export class UsageClient extends ClientPart {
  /** The sandboxes that use most, now. */
  live(query: LiveUsageQuery = {}, terms: CallTerms = {}): Promise<LiveUsage> {
    return this.call('liveUsage', { query, ...terms });
  }

  /** What a sandbox uses, and has used; also of an ended one. */
  sandbox(id: string, query: SandboxUsageQuery = {}, terms: CallTerms = {}): Promise<SandboxUsage> {
    return this.call('sandboxUsage', { params: { id }, query, ...terms });
  }

  /** What the sandboxes of an owner have used. */
  owner(owner_id: string, query: UsageQuery = {}, terms: CallTerms = {}): Promise<UsageReport> {
    return this.call('ownerUsage', { params: { owner_id }, query: { ...query, format: 'json' }, ...terms });
  }

  /** The same rows as CSV. */
  async ownerCsv(owner_id: string, query: UsageQuery = {}, terms: CallTerms = {}): Promise<string> {
    const options = { params: { owner_id }, query: { ...query, format: 'csv' }, ...terms };
    return readText(await this.send('ownerUsage', options), { limit: MAX_CSV_BYTES });
  }

  /** One page of the sandboxes of an owner, newest first, with their totals. */
  async sandboxesPage(
    owner_id: string,
    query: UsageSandboxesQuery = {},
    terms: CallTerms = {},
  ): Promise<{ sandboxes: SandboxUsageRow[]; next_cursor?: string }> {
    const [sandboxes, next] = await this.listPage<SandboxUsageRow>(
      'ownerUsageSandboxes',
      { ...query, format: 'json' },
      { params: { owner_id }, ...terms },
    );
    return { sandboxes, ...next };
  }

  /** All of them as CSV. */
  async sandboxesCsv(
    owner_id: string,
    query: UsageSandboxesQuery = {},
    terms: CallTerms = {},
  ): Promise<string> {
    const options = { params: { owner_id }, query: { ...query, format: 'csv' }, ...terms };
    return readText(await this.send('ownerUsageSandboxes', options), { limit: MAX_CSV_BYTES });
  }

  /** Owners by what their sandboxes have used; needs an admin key. */
  owners(query: OwnersUsageQuery = {}, terms: CallTerms = {}): Promise<UsageReport> {
    return this.call('adminUsage', { query: { ...query, format: 'json' }, ...terms });
  }
}
