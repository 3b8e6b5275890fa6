// The admin API through the client.
import type { AuditQuery, AuditRecord } from '../schema/audit.ts';
import type { Diagnostics, DiagnosticsQuery, MetricsBody } from '../schema/diagnostics.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import { type Connection, readJson, readText, send, sendForJson } from './call.ts';

/** What is answered at most: 1,000 audit records of the longest texts, escaped. */
const MAX_TEXT_BYTES = 16 * 1024 * 1024;

export class AdminClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  providers(): Promise<ProviderItem[]> {
    return sendForJson(this.#connection, 'adminListProviders');
  }

  provider(name: string): Promise<ProviderDetail> {
    return sendForJson(this.#connection, 'adminGetProvider', { params: { name } });
  }

  /** Checks all of them now. */
  testProviders(): Promise<ProviderTests> {
    return sendForJson(this.#connection, 'testProviders');
  }

  metrics(): Promise<MetricsBody> {
    return sendForJson(this.#connection, 'adminMetrics');
  }

  /** The numbers as Prometheus reads them. */
  async metricsText(): Promise<string> {
    return readText(await send(this.#connection, 'adminMetricsText'), { limit: MAX_TEXT_BYTES });
  }

  diagnostics(query: DiagnosticsQuery = {}): Promise<Diagnostics> {
    return sendForJson(this.#connection, 'adminDiagnostics', { query });
  }

  /** One page, newest first. */
  async auditPage(query: AuditQuery = {}): Promise<{ records: AuditRecord[]; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listAudit', { query: { ...query, format: 'json' } });
    return { records: await readJson<AuditRecord[]>(answer), ...nextOf(answer) };
  }

  /** One page as CSV, its first line the names. */
  async auditCsvPage(query: AuditQuery = {}): Promise<{ csv: string; next_cursor?: string }> {
    const answer = await send(this.#connection, 'listAudit', { query: { ...query, format: 'csv' } });
    return { csv: await readText(answer, { limit: MAX_TEXT_BYTES }), ...nextOf(answer) };
  }
}

function nextOf({ headers }: Awaited<ReturnType<typeof send>>): { next_cursor?: string } {
  const next = headers['x-next-cursor'];
  return typeof next === 'string' ? { next_cursor: next } : {};
}
