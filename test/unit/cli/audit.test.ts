// `svc audit` asks for what its flags say, and for no more pages than it needs.
import { describe, expect, it } from 'vitest';
import { auditCsvPages, auditFilter, auditRecords } from '../../../src/cli/audit.ts';
import { auditCsv } from '../../../src/domain/audit.ts';
import type { AuditQuery, AuditRecord } from '../../../src/schema/audit.ts';
import { FAKE_START } from '../../support/fakes/ports.ts';
import { auditDraft, stamp } from '../../support/records.ts';

const ALL: AuditRecord[] = Array.from({ length: 2500 }, (_, n) => ({ id: 2500 - n, ...auditDraft() }));

/** Serves pages of `ALL`; a cursor is the place. */
function server() {
  const asked: AuditQuery[] = [];
  const page = (query: AuditQuery) => {
    asked.push(query);
    const from = Number(query.cursor ?? 0);
    const to = from + (query.limit ?? 100);
    return { records: ALL.slice(from, to), ...(to < ALL.length && { next_cursor: String(to) }) };
  };
  const admin = {
    auditPage: async (query: AuditQuery = {}) => page(query),
    auditCsvPage: async (query: AuditQuery = {}) => {
      const { records, ...next } = page(query);
      return { csv: auditCsv(records), ...next };
    },
  };
  return { asked, admin };
}

describe('the filter', () => {
  it('accepts timestamps, and durations before now', () => {
    const flags = { method: 'get', since: '1h', until: '2026-01-02T03:04:05+00:00', limit: 1 };
    expect(auditFilter(flags, FAKE_START)).toEqual({ method: 'GET', since: stamp(-3600), until: stamp() });
    expect(auditFilter({ limit: 1 }, FAKE_START)).toEqual({});
  });

  it.each(['yesterday', '1x', '99999h', ''])('refuses %j', (since) =>
    expect(() => auditFilter({ since, limit: 1 }, FAKE_START)).toThrow(/--since/),
  );
});

describe('pages', () => {
  it.each([
    [1, [1]],
    [1000, [1000]],
    [1001, [1000, 1]],
    [9999, [1000, 1000, 1000]],
  ])('%i records need calls with the limits %j', async (limit, calls) => {
    const { asked, admin } = server();
    expect(await auditRecords(admin, { status: 403 }, limit)).toEqual(ALL.slice(0, limit));
    expect(asked.map((query) => query.limit)).toEqual(calls);
    expect(asked.every(({ status }) => status === 403)).toBe(true);
  });

  it.each([1, 1001, 9999])('%i records as CSV have one header line', async (limit) => {
    const { admin } = server();
    const parts: string[] = [];
    for await (const part of auditCsvPages(admin, {}, limit)) parts.push(part);
    expect(parts.join('')).toBe(auditCsv(ALL.slice(0, limit)));
  });
});
