// The admin API: providers as others see them, their check, and the audit (specification, Admin API).
import { Type } from 'typebox';
import { auditCsv } from '../../domain/audit.ts';
import { AuditQuery, AuditRecord } from '../../schema/audit.ts';
import { ProviderDetail, ProviderItem, ProviderTests } from '../../schema/provider.ts';
import { Answer, TextAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';
import { NOTHING_SAID, ProviderParams } from './params.ts';

const tag = 'admin';
const auth = 'admin';

export const adminRoutes: Route[] = [
  defineRoute({
    id: 'adminListProviders',
    tag,
    auth,
    summary: 'List providers with their health',
    success: { status: 200, description: 'All that are enabled.', schema: Type.Array(ProviderItem) },
    errors: [],
    handler: (_call, { providers }) => providers.list(),
  }),
  defineRoute({
    id: 'adminGetProvider',
    tag,
    auth,
    summary: 'Get a provider',
    params: ProviderParams,
    success: {
      status: 200,
      description: 'Health, isolation, images, configuration.',
      schema: ProviderDetail,
    },
    errors: ['not_found'],
    handler: ({ params }, { providers }) => providers.get(params.name),
  }),
  defineRoute({
    id: 'testProviders',
    tag,
    auth,
    summary: 'Check all providers now',
    description: 'Each has 3 s. What is found is also what the lists show for the next 5 s.',
    body: NOTHING_SAID,
    bodyOptional: true,
    success: { status: 200, description: 'By name.', schema: ProviderTests },
    errors: [],
    example: {},
    handler: (_call, { providers }) => providers.test(),
  }),
  defineRoute({
    id: 'listAudit',
    tag,
    auth,
    summary: 'List admin calls, newest first',
    description:
      'Refused ones too. With format=csv a cell that a spreadsheet would run has an apostrophe in front.',
    query: AuditQuery,
    success: {
      status: 200,
      description: 'One page.',
      schema: Type.Array(AuditRecord),
      other: { 'text/csv': { schema: Type.String() } },
      headers: { 'X-Next-Cursor': 'Cursor of the next page; absent on the last.' },
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
