// Admits sandboxes in PostgreSQL (docs/design/postgres.md#admission).
import { requestOfRow } from '../../domain/admission.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { placedEvents } from '../../domain/placement.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { ErrorCode } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { EXISTS, errorOf } from '../failures.ts';
import { fromSandboxRow, toSandboxRow } from '../rows.ts';
import type { Replay, Reservation, ReserveOrder, SandboxRecord, SandboxStore } from '../store.ts';
import { type Ask, explained, type Judged, judgeAll } from './admission.ts';
import type { Statement } from './connection.ts';
import { contended, crowded } from './failures.ts';
import { replayOf } from './idempotency.ts';
import { Joined } from './joined.ts';
import { outboxRows } from './outbox.ts';
import type { EventfulTable } from './quotas.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

/** Guards that run at once: more would only queue at the rows that all of them change. */
const MOST_GUARDS = 4;
const MOST_WAITING = 1000;
const WAIT_MS = 5000;
/** Attempts against others that take the last capacity in between. */
const MOST_RACES = 8;
/** Admissions of one statement. */
const MOST_JOINED = 32;
/** Two would each have half of the orders, and wait for each other where there is a limit for all. */
const CALLS_AT_ONCE = 1;

const RESERVE_ALL: Statement = {
  name: 'sandboxes-reserve',
  text: 'SELECT n, kind, worker_id, sandbox_id, fingerprint, response FROM svc_reserve_all_26($1::jsonb, $2, $3)',
};
const RESERVE_TICKET: Statement = {
  name: 'sandbox-reserve',
  text: 'SELECT kind, worker_id, sandbox_id, fingerprint, response, turn FROM svc_reserve_22($1::jsonb, $2, $3)',
};
/** The same for a prewarmed sandbox, which must be as its taker claimed it. */
const RESERVE_WARM: Statement = {
  name: 'sandbox-reserve-warm',
  text: RESERVE_TICKET.text.replace('svc_reserve_22', 'svc_reserve_claimed_32'),
};

/** What the values of a row may cause: a violated constraint, and what the database has no other code for. */
const OF_VALUES: readonly ErrorCode[] = ['internal', 'conflict'];

interface Guarded {
  kind: 'reserved' | 'raced' | 'gone' | 'no_ticket' | 'replay' | 'exists';
  worker_id: string;
  sandbox_id: string;
  fingerprint: string;
  response: string | null;
  turn?: number | null;
}

/**
 * - `raced`: others took the capacity in between.
 * - `later`: it was denied as if others had been admitted, which are not yet.
 * - `exists`: the id is taken.
 * - `alone`: one that was decided on or written together with it failed.
 */
type Attempt = Reservation | 'raced' | 'later' | 'exists' | 'alone';

export function reserving(table: EventfulTable): SandboxStore['reserve'] {
  const { clock, numbering } = table;
  const bounds = { clock, waiting: MOST_WAITING, waitMs: WAIT_MS, busy: () => crowded().error };
  const guards = new ConcurrencyLimit(MOST_GUARDS, bounds);
  const joined = new Joined<ReserveOrder, Attempt>({
    ...bounds,
    atOnce: CALLS_AT_ONCE,
    most: MOST_JOINED,
    keyOf: ({ claim }) => claim && JSON.stringify([claim.scope, claim.key]),
    run: (orders) => admitTogether(table, orders),
  });
  const attempt = async (order: ReserveOrder, isFirst: boolean) => {
    if (order.warm || order.ticket) return admitAlone(table, order, guards);
    const outcome = await joined.add(order, isFirst);
    if (outcome !== 'alone') return outcome;
    return guards.run(async () => (await admitTogether(table, [order]))[0]!);
  };
  return async (order) => {
    if (order.limits.pool) throw poolRefused();
    for (let races = 0, isFirst = false; races < MOST_RACES; isFirst = true) {
      const reservation = await attempt(order, isFirst);
      if (reservation === 'exists') throw errorOf(EXISTS);
      if (reservation === 'raced') races++;
      if (typeof reservation === 'string') continue;
      if (reservation.kind === 'reserved') numbering.request();
      return reservation;
    }
    throw contended();
  };
}

/** One with a ticket or a prewarmed sandbox. */
async function admitAlone(
  { work, ids }: EventfulTable,
  order: ReserveOrder,
  guards: ConcurrencyLimit,
): Promise<Attempt> {
  const ask = askOf(order);
  const [judged] = await judgeAll(work, [ask]);
  if (judged!.replay) return judged!.replay;
  if (!judged!.decision.allowed) return { kind: 'denied', decision: await explained(work, ask, judged!) };
  const made = madeOf(order, judged!);
  const wish = { ...wishOf(order, made, judged!), events: outboxRows(made.events, ids) };
  const statement = order.warm ? RESERVE_WARM : RESERVE_TICKET;
  const [guarded] = await guards.run(() => work.once<Guarded>({ ...statement, values: [encodeJson(wish)] }));
  return reservationOf(guarded!, made);
}

/** Those that are refused or fail undo none of the others. */
async function admitTogether(
  table: EventfulTable,
  orders: readonly ReserveOrder[],
): Promise<Promise<Attempt>[]> {
  const { work, ids } = table;
  const asks = orders.map(askOf);
  const judged = await orAlone(orders, () => judgeAll(work, asks));
  if (judged === 'alone') return orders.map(async () => 'alone');
  const all = orders.map((order, at) => ({ order, judged: judged[at]!, made: madeOf(order, judged[at]!) }));
  const allowed = all.filter((each) => !each.judged.replay && each.judged.decision.allowed);
  const wishedBy = ({ order, made, judged }: (typeof all)[number]) => ({
    ...wishOf(order, made, judged),
    events: outboxRows(made.events, ids),
  });
  const guard = orAlone(orders, () => guardAll(work, allowed.map(wishedBy)));
  return all.map(async (each, at): Promise<Attempt> => {
    const { replay, decision, isAfterOthers } = each.judged;
    if (replay) return replay;
    if (!decision.allowed && !isAfterOthers)
      return { kind: 'denied', decision: await explained(work, asks[at]!, each.judged) };
    const guarded = await guard;
    if (guarded === 'alone') return 'alone';
    if (!decision.allowed) return 'later';
    const n = allowed.indexOf(each);
    return reservationOf(guarded.find((outcome) => outcome.n === n)!, each.made);
  });
}

const guardAll = async (work: Work, wishes: readonly unknown[]): Promise<(Guarded & { n: number })[]> =>
  wishes.length === 0 ? [] : work.once({ ...RESERVE_ALL, values: [encodeJson(wishes)] });

/** `alone`: nothing was written because of the values of one of several orders. */
async function orAlone<T>(orders: readonly ReserveOrder[], run: () => Promise<T>): Promise<T | 'alone'> {
  try {
    return await run();
  } catch (error) {
    const isOfOne = !(error instanceof ServiceError) || OF_VALUES.includes(error.code);
    if (orders.length > 1 && isOfOne) return 'alone';
    throw error;
  }
}

const askOf = ({ sandbox, limits, claim }: ReserveOrder): Ask => ({
  request: requestOfRow(sandbox),
  limits,
  claim,
});

interface Made {
  sandbox: SandboxRecord;
  events: EventDraft[];
}

function madeOf({ sandbox, events }: ReserveOrder, { decision }: Judged): Made {
  const worker_id = decision.placement?.worker_id ?? sandbox.worker_id;
  return { sandbox: { ...sandbox, worker_id }, events: placedEvents(events, worker_id) };
}

function reservationOf(guarded: Guarded, { sandbox, events }: Made): Attempt {
  const { kind, turn = null } = guarded;
  if (kind === 'raced' || kind === 'exists') return kind;
  if (kind === 'gone' || kind === 'no_ticket') return { kind };
  if (kind === 'replay') return replayOf(guarded) satisfies Replay;
  return { kind, sandbox: fromSandboxRow(toSandboxRow(sandbox)), events, ...(turn !== null && { turn }) };
}

/** What the guard writes, and the numbers that were decided on: it knows no reasons. */
function wishOf(
  { limits, claim, warm, ticket }: ReserveOrder,
  { sandbox }: Made,
  { decision, quota }: Judged,
) {
  const isLocal = limits.placement === undefined || sandbox.worker_id === LOCAL_WORKER;
  return {
    row: toSandboxRow(sandbox),
    total_cap: limits.max_sandboxes,
    provider_cap: isLocal ? decision.max_provider_sandboxes : 0,
    owner_cap: decision.max_owner_sandboxes ?? 0,
    quota_at: quota?.updated_at,
    claim,
    ticket,
    warm: warm && { response: claim ? warm.response : null, replica_id: warm.replica_id },
    ...(!isLocal && { lease: { expires_at: limits.placement?.lease_until } }),
  };
}

const poolRefused = () =>
  new ServiceError('not_implemented', 'Sandboxes that share VMs need a database file.', {
    remedy: 'Turn pool mode off, or set database.path in place of database.url.',
  });
