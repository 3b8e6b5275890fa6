// GET /sandboxes/{id}/usage, /owners/{owner}/usage and /admin/usage: the ledger, and the newest points of one sandbox.
import { visibleOwner } from '../../domain/access.ts';
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { defined } from '../../domain/defined.ts';
import { ServiceError } from '../../domain/errors.ts';
import { parseOwner } from '../../domain/owner.ts';
import { usagePeriod } from '../../domain/usage-period.ts';
import type {
  OwnersUsageQuery,
  SandboxUsage,
  UsageQuery,
  UsageReport,
  UsageSandboxesQuery,
} from '../../schema/usage.ts';
import { addAmounts, type UsageStore } from '../../store/seam/usage.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { UsageViews } from '../api/usage.ts';
import type { Latest } from './latest.ts';
import { liveUsage } from './live.ts';
import { measuredNow, missingOf, rowView, sandboxView, totalsOf } from './shown.ts';
import { HOUR_MS } from './spread.ts';
import type { UsageViewDeps } from './view-deps.ts';

/** Rows of one answer; CSV has no limit, as it is read in parts. */
const MOST_ROWS = 2000;
const MOST_OWNERS = 100_000;
const PAGE = 1000;
/** Rows of the store in one part: a month of hours of an owner with a thousand providers and templates has fewer. */
const MOST_STORED = 1_000_000;
const DAY_HOURS = 24;
/** The time that CSV is read by: a month of hours. */
const PART_HOURS = 31 * DAY_HOURS;
const MEBIBYTE = 1024 * 1024;
const FINE_MS = 10_000;
const MINUTE_MS = 60_000;

export function usageViews(deps: UsageViewDeps): UsageViews {
  return {
    live: async (query, caller) => liveUsage(deps, query, caller),
    sandbox: (id, { step }, caller) =>
      sandboxUsage(deps, { id, stepMs: step === 'minute' ? MINUTE_MS : FINE_MS }, caller),
    owner: (owner_id, query, caller) => ownerReport(deps, visible(deps, owner_id, caller), query),
    ownerRows: (owner_id, query, caller) => ownerRows(deps, visible(deps, owner_id, caller), query),
    sandboxes: async (owner_id, query, caller) => sandboxPage(deps, visible(deps, owner_id, caller), query),
    sandboxRows: (owner_id, query, caller) => sandboxRows(deps, visible(deps, owner_id, caller), query),
    owners: (query) => ownersReport(deps, query),
  };
}

/** The use of another owner looks as if it did not exist. */
function visible({ settings }: UsageViewDeps, text: string, caller: Caller): string {
  const owner_id = parseOwner(text, 'The owner');
  const own = visibleOwner(settings, caller);
  if (own === undefined || own === owner_id) return owner_id;
  throw new ServiceError('not_found', 'There is no such owner.', {
    remedy: 'An owner sees only its own use; an admin key sees all.',
  });
}

async function sandboxUsage(
  { usage, sandboxes, sampler, guests, settings, isMeasuring, clock }: UsageViewDeps,
  { id, stepMs }: { id: string; stepMs: number },
  caller: Caller,
): Promise<SandboxUsage> {
  const [row, [ledger]] = await Promise.all([sandboxes.get(id), usage.of([id])]);
  const known = row ?? ledger;
  const owner = visibleOwner(settings, caller);
  if (!known || (owner !== undefined && (known.owner_id ?? '') !== owner)) throw unknown();
  if (row) sampler.watch([id]);
  const guest = row && isMeasuring ? await guests.of(row) : undefined;
  const latest = sampler.get(id);
  const { points, stepMs: step } = sampler.history.read(id, stepMs);
  const [first] = points;
  const reading = latest?.reading;
  return {
    sandbox_id: id,
    ...(known.owner_id && { owner_id: known.owner_id }),
    ...(reading && latest && { sampled_at: new Date(latest.at).toISOString() }),
    now: {
      ...(row && latest ? shownNow(latest) : {}),
      memory_limit_bytes: known.memory_mb * MEBIBYTE,
    },
    missing: missingOf(known as Partial<SandboxRecord>, reading, isMeasuring),
    ...(guest && { guest }),
    ...(ledger && { totals: sandboxView(ledger) }),
    ...(first && { points_since: new Date(first.at).toISOString() }),
    step_seconds: step / 1000,
    points: points
      .filter(({ at }) => at <= clock.now())
      .map(({ at, ...point }) => ({ at: new Date(at).toISOString(), ...point })),
  };
}

const shownNow = (latest: Latest) => defined({ ...measuredNow(latest), source: latest.reading?.source });

const STEP_HOURS = { hour: 1, day: DAY_HOURS, month: DAY_HOURS, total: 0 } as const;

function filterOf(query: UsageQuery, now: number) {
  const { step = 'day', group_by } = query;
  const { from, to } = usagePeriod(query, now);
  const by = group_by === undefined ? [] : [group_by];
  return { step, filter: { from: from / HOUR_MS, to: to / HOUR_MS, step: STEP_HOURS[step], by } };
}

async function ownerReport(deps: UsageViewDeps, owner_id: string, query: UsageQuery): Promise<UsageReport> {
  const { step, filter } = filterOf(query, deps.clock.now());
  // Days of months are joined below: there are more of them.
  const limit = step === 'month' ? MOST_STORED : MOST_ROWS + 1;
  const found = await deps.usage.rows({ ...filter, owner_id, limit });
  const rows = step === 'month' ? byMonth(found) : found;
  if (rows.length > MOST_ROWS) throw tooMany(step);
  return report(
    deps,
    { filter, step },
    rows.map((row) => rowView(row, filter.by)),
    rows,
  );
}

async function report(
  { usage }: UsageViewDeps,
  { filter, step }: ReturnType<typeof filterOf>,
  shown: UsageReport['rows'],
  rows: Parameters<typeof totalsOf>[0],
): Promise<UsageReport> {
  const complete_until = await usage.completeUntil();
  return {
    from: new Date(filter.from * HOUR_MS).toISOString(),
    to: new Date(filter.to * HOUR_MS).toISOString(),
    step,
    ...(complete_until !== undefined && { complete_until }),
    rows: shown,
    total: totalsOf(rows),
  };
}

/** Days to months, by the calendar. */
function byMonth(days: Awaited<ReturnType<UsageStore['rows']>>): typeof days {
  const months = new Map<string, (typeof days)[number]>();
  for (const { hour, ...row } of days) {
    const date = new Date(hour * HOUR_MS);
    const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / HOUR_MS;
    const key = JSON.stringify([first, row.provider, row.template]);
    const known = months.get(key);
    const amounts = known ? addAmounts({ ...known.amounts }, row.amounts) : row.amounts;
    months.set(key, { ...row, hour: first, sandboxes: (known?.sandboxes ?? 0) + row.sandboxes, amounts });
  }
  return [...months.values()];
}

async function* ownerRows(deps: UsageViewDeps, owner_id: string, query: UsageQuery) {
  const { step, filter } = filterOf(query, deps.clock.now());
  const isWhole = step === 'month' || step === 'total';
  const size = isWhole ? filter.to - filter.from : PART_HOURS;
  // Parts begin where days do, so that no day is cut.
  for (let from = filter.from; from < filter.to; ) {
    const to = Math.min(filter.to, from - (from % DAY_HOURS) + size + (isWhole ? DAY_HOURS : 0));
    const found = await deps.usage.rows({ ...filter, from, to, owner_id, limit: MOST_STORED });
    yield (step === 'month' ? byMonth(found) : found).map((row) => rowView(row, filter.by));
    from = to;
  }
}

async function sandboxPage({ usage, clock }: UsageViewDeps, owner_id: string, query: UsageSandboxesQuery) {
  const { from, to } = usagePeriod(query, clock.now());
  const { limit = PAGE, cursor } = query;
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const found = await usage.sandboxes({
    owner_id,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    limit: limit + 1,
    ...(after && { after: { started_at: after.created_at, id: after.id } }),
  });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const next = found.length > limit &&
    last && { next_cursor: formatCursor({ created_at: last.started_at, id: last.sandbox_id }) };
  return { rows: rows.map(sandboxView), ...next };
}

async function* sandboxRows(deps: UsageViewDeps, owner_id: string, query: UsageSandboxesQuery) {
  for (let cursor: string | undefined | null = query.cursor; cursor !== null; ) {
    const page = await sandboxPage(deps, owner_id, {
      ...query,
      limit: PAGE,
      ...(cursor !== undefined && { cursor }),
    });
    yield page.rows;
    cursor = page.next_cursor ?? null;
  }
}

const SORTS = {
  cpu: 'cpu_seconds',
  memory: 'memory_mib_seconds_allocated',
  sandboxes: 'sandbox_seconds',
} as const;

async function ownersReport(deps: UsageViewDeps, query: OwnersUsageQuery): Promise<UsageReport> {
  const { sort = 'cpu', limit = 100, from, to } = query;
  const { filter } = filterOf(
    { step: 'total', ...(from !== undefined && { from }), ...(to !== undefined && { to }) },
    deps.clock.now(),
  );
  const by = ['owner_id'] as const;
  const found = await deps.usage.rows({ ...filter, by, limit: MOST_OWNERS });
  const rows = found.map((row) => rowView(row, by));
  const keyOf = (row: UsageReport['rows'][number]) =>
    sort === 'network' ? row.rx_bytes + row.tx_bytes : row[SORTS[sort]];
  rows.sort((a, b) => keyOf(b) - keyOf(a));
  return report(deps, { filter: { ...filter, by: [] }, step: 'total' }, rows.slice(0, limit), found);
}

function unknown(): ServiceError {
  return new ServiceError('not_found', 'There is no use of such a sandbox.', {
    remedy: 'The ledger keeps sandboxes for usage.retention_hours after their end.',
  });
}

function tooMany(step: string): ServiceError {
  const larger = step === 'hour' ? 'day' : 'month';
  return new ServiceError('bad_request', `The answer would have more than ${MOST_ROWS} rows.`, {
    remedy: `Use step=${larger}, a shorter time, or format=csv.`,
  });
}
