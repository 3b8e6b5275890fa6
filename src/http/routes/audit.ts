// The audit of changes and admin calls (docs/design/api.md#audit): JSON or CSV, in pages either way.
import { Type } from 'typebox';
import { auditCsv } from '../../domain/audit.ts';
import { AuditQuery, AuditRecord } from '../../schema/audit.ts';
import { Answer, TextAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';

export const auditRoutes: Route[] = [
  defineRoute({
    id: 'listAudit',
    tag: 'admin',
    auth: 'admin',
    summary: 'List changes and admin calls, newest first',
    description:
      'Includes refused calls. Calls inside sandboxes are included with audit.execs. With format=csv, a cell that a spreadsheet would evaluate starts with an apostrophe.',
    query: AuditQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(AuditRecord),
      other: { 'text/csv': { schema: Type.String() } },
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors: [],
    handler: async ({ query }, { audit }) => {
      const { records, next_cursor } = await audit.list(query);
      const headers: Record<string, string> =
        next_cursor === undefined ? {} : { 'X-Next-Cursor': next_cursor };
      if (query.format !== 'csv') return new Answer(records, { headers });
      return new TextAnswer(auditCsv(records), 'text/csv; charset=utf-8; header=present', {
        ...headers,
        'Content-Disposition': 'attachment; filename="audit.csv"',
      });
    },
  }),
];
