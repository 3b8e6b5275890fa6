// The admin API through the client.
import type { AuditQuery, AuditRecord } from '../schema/audit.ts';
import type { Diagnostics, DiagnosticsQuery, MetricsBody } from '../schema/diagnostics.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import { type CallTerms, nextOf, readText } from './call.ts';
import { ClientPart } from './client-part.ts';

/** The largest answer: 1,000 audit records of the longest texts, escaped. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

export class AdminClient extends ClientPart {
  providers(terms: CallTerms = {}): Promise<ProviderItem[]> {
    return this.call('adminListProviders', { ...terms });
  }

  provider(name: string, terms: CallTerms = {}): Promise<ProviderDetail> {
    return this.call('adminGetProvider', { params: { name }, ...terms });
  }

  /** Checks all providers now. */
  testProviders(terms: CallTerms = {}): Promise<ProviderTests> {
    return this.call('testProviders', { ...terms });
  }

  metrics(terms: CallTerms = {}): Promise<MetricsBody> {
    return this.call('adminMetrics', { ...terms });
  }

  /** The metrics in the Prometheus text format. */
  async metricsText(terms: CallTerms = {}): Promise<string> {
    return readText(await this.send('adminMetricsText', { ...terms }), { limit: MAX_TEXT_BYTES });
  }

  diagnostics(query: DiagnosticsQuery = {}, terms: CallTerms = {}): Promise<Diagnostics> {
    return this.call('adminDiagnostics', { query, ...terms });
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
    terms: CallTerms = {},
  ): Promise<{ csv: string; next_cursor?: string }> {
    const answer = await this.send('listAudit', { query: { ...query, format: 'csv' }, ...terms });
    return { csv: await readText(answer, { limit: MAX_TEXT_BYTES }), ...nextOf(answer) };
  }
}
