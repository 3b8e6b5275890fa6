// The admin API through the client.
import type { AuditQuery, AuditRecord } from '../schema/audit.ts';
import type { Diagnostics, DiagnosticsQuery, MetricsBody } from '../schema/diagnostics.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import { type CallTerms, nextOf, readText } from './call.ts';
import { ClientPart } from './client-part.ts';

/** The largest answer: 1,000 audit records of the longest texts, escaped. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

export class AdminClient extends ClientPart {
  providers({ signal }: CallTerms = {}): Promise<ProviderItem[]> {
    return this.call('adminListProviders', { signal });
  }

  provider(name: string, { signal }: CallTerms = {}): Promise<ProviderDetail> {
    return this.call('adminGetProvider', { params: { name }, signal });
  }

  /** Checks all providers now. */
  testProviders({ signal }: CallTerms = {}): Promise<ProviderTests> {
    return this.call('testProviders', { signal });
  }

  metrics({ signal }: CallTerms = {}): Promise<MetricsBody> {
    return this.call('adminMetrics', { signal });
  }

  /** The metrics in the Prometheus text format. */
  async metricsText({ signal }: CallTerms = {}): Promise<string> {
    return readText(await this.send('adminMetricsText', { signal }), { limit: MAX_TEXT_BYTES });
  }

  diagnostics(query: DiagnosticsQuery = {}, { signal }: CallTerms = {}): Promise<Diagnostics> {
    return this.call('adminDiagnostics', { query, signal });
  }

  /** One page, newest first. */
  async auditPage(
    query: AuditQuery = {},
    terms: CallTerms = {},
  ): Promise<{ records: AuditRecord[]; next_cursor?: string }> {
    const asJson = { ...query, format: 'json' as const };
    const [records, next] = await this.listPage<AuditRecord>('listAudit', asJson, terms);
    return { records, ...next };
  }

  /** One page as CSV with a header line. */
  async auditCsvPage(
    query: AuditQuery = {},
    { signal }: CallTerms = {},
  ): Promise<{ csv: string; next_cursor?: string }> {
    const answer = await this.send('listAudit', { query: { ...query, format: 'csv' }, signal });
    return { csv: await readText(answer, { limit: MAX_TEXT_BYTES }), ...nextOf(answer) };
  }
}
