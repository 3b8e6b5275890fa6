// What sandboxes use (docs/usage.md): newest readings, and the ledger as JSON or CSV.
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { type CsvValue, csvLine } from '../../domain/csv.ts';
import {
  LiveUsage,
  LiveUsageQuery,
  OwnersUsageQuery,
  SandboxUsage,
  SandboxUsageQuery,
  SandboxUsageRow,
  UsageQuery,
  UsageReport,
  UsageRow,
  UsageSandboxesQuery,
} from '../../schema/usage.ts';
import { Answer, StreamAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';
import { QuotaParams, SandboxParams } from './params.ts';

const tag = 'usage';
const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
const CSV = { 'text/csv': { schema: Type.String() } };
const TIMES =
  'Times are UTC, rounded to hours. A cell of CSV that a spreadsheet would evaluate starts with an apostrophe.';

const liveRoutes = [
  defineRoute({
    id: 'sandboxUsage',
    tag,
    auth: 'api',
    summary: 'Get what a sandbox uses, and what it has used',
    description:
      'Also of an ended sandbox, for usage.retention_hours. The sandbox is then measured every 2 s for 30 s.',
    params: SandboxParams,
    query: SandboxUsageQuery,
    success: {
      status: 200,
      description: 'The newest measurements, totals and points.',
      schema: SandboxUsage,
    },
    errors: ['not_found'],
    handler: ({ params, query, caller }, { usage }) => usage.sandbox(params.id, query, caller),
  }),
  defineRoute({
    id: 'liveUsage',
    tag,
    auth: 'api',
    summary: 'List the sandboxes that use most',
    description: 'The newest measurements, sorted by the server; owners with their sums.',
    query: LiveUsageQuery,
    success: { status: 200, description: 'Sandboxes and owners, the largest first.', schema: LiveUsage },
    errors: [],
    quiet: true,
    handler: ({ query, caller }, { usage }) => usage.live(query, caller),
  }),
];

const ROW_COLUMNS = Object.keys(UsageRow.properties);
const SANDBOX_COLUMNS = Object.keys(SandboxUsageRow.properties);

const ownerRoutes = [
  defineRoute({
    id: 'ownerUsage',
    tag,
    auth: 'api',
    summary: 'Get what the sandboxes of an owner have used',
    description: TIMES,
    params: QuotaParams,
    query: UsageQuery,
    success: { status: 200, description: 'Rows by time, and their sum.', schema: UsageReport, other: CSV },
    errors: ['not_found'],
    handler: ({ params, query, caller }, { usage }) => {
      if (query.format !== 'csv') return usage.owner(params.owner_id, query, caller);
      const grouped = ROW_COLUMNS.filter(
        (name) =>
          name !== 'owner_id' && (!['provider', 'template'].includes(name) || name === query.group_by),
      );
      return csv(grouped, usage.ownerRows(params.owner_id, query, caller), 'usage.csv');
    },
  }),
  defineRoute({
    id: 'ownerUsageSandboxes',
    tag,
    auth: 'api',
    summary: 'List what each sandbox of an owner has used, newest first',
    description: `Sandboxes that ran at some time in the period, with their totals. ${TIMES}`,
    params: QuotaParams,
    query: UsageSandboxesQuery,
    success: {
      status: 200,
      description: 'One page of results; CSV has all.',
      schema: Type.Array(SandboxUsageRow),
      other: CSV,
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors: ['not_found'],
    handler: async ({ params, query, caller }, { usage }) => {
      if (query.format === 'csv')
        return csv(SANDBOX_COLUMNS, usage.sandboxRows(params.owner_id, query, caller), 'sandboxes.csv');
      const { rows, next_cursor } = await usage.sandboxes(params.owner_id, query, caller);
      return new Answer(rows, { headers: next_cursor === undefined ? {} : { 'X-Next-Cursor': next_cursor } });
    },
  }),
  defineRoute({
    id: 'adminUsage',
    tag: 'admin',
    auth: 'admin',
    summary: 'List owners by what their sandboxes have used',
    description: `The sum is that of all owners. ${TIMES}`,
    query: OwnersUsageQuery,
    success: { status: 200, description: 'Owners, the largest first.', schema: UsageReport, other: CSV },
    errors: [],
    handler: async ({ query }, { usage }) => {
      const report = await usage.owners(query);
      if (query.format !== 'csv') return report;
      const columns = ROW_COLUMNS.filter((name) => name !== 'provider' && name !== 'template');
      return csv(columns, [report.rows], 'owners.csv');
    },
  }),
];

type Rows = AsyncIterable<readonly object[]> | Iterable<readonly object[]>;

/** The first rows are read before the head is sent, so that a wrong time is still refused. */
async function csv(columns: readonly string[], rows: Rows, name: string): Promise<StreamAnswer> {
  const lines = linesOf(columns, rows);
  const first = await lines.next();
  async function* all() {
    yield first.value ?? '';
    yield* lines;
  }
  return new StreamAnswer(Readable.from(all(), { objectMode: false }), {
    'Content-Type': CSV_TYPE,
    'Content-Disposition': `attachment; filename="${name}"`,
  });
}

async function* linesOf(columns: readonly string[], rows: Rows): AsyncGenerator<string> {
  let head = csvLine(columns);
  for await (const part of rows) {
    const values = part as readonly Record<string, CsvValue>[];
    yield head + values.map((row) => csvLine(columns.map((name) => row[name]))).join('');
    head = '';
  }
  if (head !== '') yield head;
}

export const usageRoutes: Route[] = [...liveRoutes, ...ownerRoutes];
