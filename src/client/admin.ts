// The admin API through the client.
import type { AuditQuery, AuditRecord } from '../schema/audit.ts';
import type { Diagnostics, DiagnosticsQuery, MetricsBody } from '../schema/diagnostics.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import { type CallTerms, type Connection, readJson, readText, send, sendForJson } from './call.ts';

/** The largest answer: 1,000 audit records of the longest texts, escaped. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

export class AdminClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  providers({ signal }: CallTerms = {}): Promise<ProviderItem[]> {
    return sendForJson(this.#connection, 'adminListProviders', { signal });
  }

  provider(name: string, { signal }: CallTerms = {}): Promise<ProviderDetail> {
    return sendForJson(this.#connection, 'adminGetProvider', { params: { name }, signal });
  }

  /** Checks all providers now. */
  testProviders({ signal }: CallTerms = {}): Promise<ProviderTests> {
    return sendForJson(this.#connection, 'testProviders', { signal });
  }

  metrics({ signal }: CallTerms = {}): Promise<MetricsBody> {
    return sendForJson(this.#connection, 'adminMetrics', { signal });
  }

  /** The metrics in the Prometheus text format. */
  async metricsText({ signal }: CallTerms = {}): Promise<string> {
    return readText(await send(this.#connection, 'adminMetricsText', { signal }), { limit: MAX_TEXT_BYTES });
  }

  diagnostics(query: DiagnosticsQuery = {}, { signal }: CallTerms = {}): Promise<Diagnostics> {
    return sendForJson(this.#connection, 'adminDiagnostics', { query, signal });
  }

  /** One page, newest first. */
  async auditPage(
    query: AuditQuery = {},
    { signal }: CallTerms = {},
  ): Promise<{ records: AuditRecord[]; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listAudit', { query: { ...query, format: 'json' }, signal });
    return { records: await readJson<AuditRecord[]>(answer, signal), ...nextOf(answer) };
  }

  /** One page as CSV with a header line. */
  async auditCsvPage(
    query: AuditQuery = {},
    { signal }: CallTerms = {},
  ): Promise<{ csv: string; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listAudit', { query: { ...query, format: 'csv' }, signal });
    return { csv: await readText(answer, { limit: MAX_TEXT_BYTES }), ...nextOf(answer) };
  }
}

function nextOf({ headers }: Awaited<ReturnType<typeof send>>): { next_cursor?: string } {
  const next = headers['x-next-cursor'];
  return typeof next === 'string' ? { next_cursor: next } : {};
}
