// Audit records keep their bounds, and no spreadsheet runs what a caller wrote.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AUDIT_COLUMNS, auditCsv, boundedAudit } from '../../../src/domain/audit.ts';
import type { AuditRecord } from '../../../src/schema/audit.ts';
import { auditDraft } from '../../support/records.ts';

const record = (facts: Partial<AuditRecord> = {}): AuditRecord => ({ id: 1, ...auditDraft(), ...facts });

const cellOf = (line: string[] | undefined, column: (typeof AUDIT_COLUMNS)[number]) =>
  line?.[AUDIT_COLUMNS.indexOf(column)];

/** RFC 4180, read back. */
function parse(csv: string): string[][] {
  const rows: string[][] = [];
  const row: string[] = [];
  for (const [, quoted, plain, end] of csv.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end === '\r\n') rows.push(row.splice(0));
  }
  return rows;
}

it('cuts fields of any length from callers', () => {
  const long = 'x'.repeat(5000);
  const cut = boundedAudit(auditDraft({ path: long, user_agent: long, user_id: long, method: long }));
  expect([cut.path.length, cut.user_agent?.length, cut.user_id?.length, cut.method.length]).toEqual([
    1024, 256, 128, 16,
  ]);
  expect(boundedAudit(auditDraft())).toEqual(auditDraft());
});

it('writes a header, then one line for each record', () => {
  const [names, first] = parse(auditCsv([record({ user_agent: 'a "b", c\r\nd' })]));
  expect(names?.slice(0, 4)).toEqual(['id', 'created_at', 'actor', 'user_id']);
  expect(first?.[0]).toBe('1');
  expect(cellOf(first, 'user_agent')).toBe('a "b", c\r\nd');
  expect(auditCsv([])).toBe(`${names?.join(',')}\r\n`);
});

it.each([
  ...[
    '\uff1d1+1',
    '\uff0b1',
    '\uff0d1',
    '\uff20SUM(A1)',
    '\u22121',
    '\ufe661',
    '\u200b=1',
    '\u00ad\uff1d1',
    '\x01=1',
  ],
  ...['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '\n@x', '|cmd', '%x'],
])('escapes the formula %j', (text) => {
  const [, line] = parse(auditCsv([record({ user_agent: text, path: text })]));
  expect(cellOf(line, 'user_agent')).toBe(`'${text}`);
  expect(cellOf(line, 'path')).toBe(`'${text}`);
});

it('separates all texts, and lets none start a formula', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (user_agent, path) => {
      const [, line, ...rest] = parse(auditCsv([record({ user_agent, path })]));
      expect(rest).toEqual([]);
      expect(line).toHaveLength(AUDIT_COLUMNS.length);
      for (const cell of line ?? []) expect(cell).not.toMatch(/^[\s=+\-@|%]/);
      expect([user_agent, `'${user_agent}`]).toContain(cellOf(line, 'user_agent'));
    }),
  );
});
