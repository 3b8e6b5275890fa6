// Rows of two commits side by side: both open the world of a group at once, and each pair is ours of one commit and ours of the
// other, in turn. So a machine that drifts affects both alike, and all rows take as long as one table.
import { type Group, isWanted } from './group.ts';
import { measureRow, type Pair, type Row } from './row.ts';

export interface ComparisonRequest {
  /** The folder of this commit, and that of the other one, built. */
  root: string;
  before: string;
  groups: readonly Group[];
  /** Groups of the other commit. Their code is used for what is measured inside this process; servers are asked by ours. */
  groupsBefore: readonly Group[];
  only?: readonly string[] | undefined;
  /** Ends the comparison early. */
  signal?: AbortSignal;
  started?(id: string): void;
  /** `ratio` of the row is ours by that of the other commit, `baseline` the other commit. */
  ended?(row: Row): void;
}

export interface Comparison {
  rows: Row[];
  /** Why a row has no ratio. */
  failures: { id: string; reason: string }[];
}

/** A row whose entire interval is above is slower. */
const SLOWER = 1.05;

export const isSlower = ({ interval: [low] }: Row) => low > SLOWER;

/** One row, for a terminal. */
export function comparedText(row: Row): string {
  const { id, ratio = Number.NaN, interval, ours, baseline, unit, pairs } = row;
  const bounds = interval.map((bound) => bound.toFixed(2)).join('–');
  const medians = `${ours.p50.toFixed(2)} ${unit}, before ${baseline?.p50.toFixed(2)} ${unit}`;
  return `${id}: ${ratio.toFixed(2)} (${bounds}) of before: ${medians}, ${pairs} pairs${isSlower(row) ? ': slower' : ''}`;
}

/** A group that breaks on either side costs its own rows only. Once `signal` aborts, its reason, with everything cleared away. */
export async function compareRows(request: ComparisonRequest): Promise<Comparison> {
  const { root, before, groups, groupsBefore, only, signal } = request;
  const comparison: Comparison = { rows: [], failures: [] };
  const idsBefore = new Set(groupsBefore.flatMap(({ ids }) => ids));
  for (const group of groups) {
    const ids = group.ids.filter((id) => isWanted(id, only) && idsBefore.has(id));
    const reason = group.need?.(root);
    if (reason !== undefined) comparison.failures.push(...ids.map((id) => ({ id, reason })));
    if (ids.length === 0 || reason !== undefined) continue;
    const other = group.isInside ? joined(groupsBefore, ids) : group;
    const broke = await compareGroup([group.run.bind(group, root), other.run.bind(other, before)], {
      ids,
      request,
      comparison,
    });
    signal?.throwIfAborted();
    const missing = ids.filter((id) => !comparison.rows.some((row) => row.id === id));
    comparison.failures.push(
      ...missing.map((id) => ({ id, reason: broke ?? 'the two commits do not measure it alike' })),
    );
  }
  return comparison;
}

/** The groups that have these rows, as one. */
function joined(groups: readonly Group[], ids: readonly string[]): Pick<Group, 'run'> {
  const wanted = groups.filter((group) => group.ids.some((id) => ids.includes(id)));
  return {
    run: async (root, measure) => {
      for (const group of wanted) await group.run(root, measure);
    },
  };
}

type Run = (measure: (pair: Pair) => Promise<void>) => Promise<void>;

/** Gives what broke. */
async function compareGroup(
  sides: readonly [Run, Run],
  {
    ids,
    request,
    comparison,
  }: { ids: readonly string[]; request: ComparisonRequest; comparison: Comparison },
): Promise<string | undefined> {
  const meeting = new Meeting(async (now, then) => {
    request.started?.(now.id);
    const row = await measureRow(pairOf(now, then), request.signal);
    comparison.rows.push(row);
    request.ended?.(row);
  });
  const ends = await Promise.allSettled(
    sides.map(async (run, side) => {
      try {
        await run(async (pair) => {
          if (ids.includes(pair.id)) await meeting.arrive(side, pair);
        });
      } finally {
        meeting.leave(side);
      }
    }),
  );
  const broken = ends.find((end) => end.status === 'rejected');
  return broken && `broke: ${String(broken.reason).split('\n', 1)[0]}`;
}

function pairOf(now: Pair, then: Pair): Pair {
  const { id, name, unit, pairs, warmUps, rest } = now;
  return {
    id,
    name,
    pairs,
    target: Number.POSITIVE_INFINITY,
    judged: 'ratio',
    ...(unit !== undefined && { unit }),
    ...(warmUps !== undefined && { warmUps }),
    ...(rest !== undefined && { rest }),
    ours: () => now.ours(),
    baseline: () => then.ours(),
  };
}

interface Arrival {
  pair: Pair;
  release(): void;
  fail(error: unknown): void;
}

/** Where the two sides wait for each other before each row. */
class Meeting {
  readonly #waiting: (Arrival | undefined)[] = [undefined, undefined];
  readonly #left = [false, false];

  readonly #measure: (now: Pair, then: Pair) => Promise<void>;

  constructor(measure: (now: Pair, then: Pair) => Promise<void>) {
    this.#measure = measure;
  }

  /** Settles when the row of this pair was measured, or when the other side does not come to it. */
  arrive(side: number, pair: Pair): Promise<void> {
    return new Promise((release, fail) => {
      if (this.#left[1 - side]) {
        release();
        return;
      }
      this.#waiting[side] = { pair, release, fail };
      this.#meet();
    });
  }

  leave(side: number): void {
    this.#left[side] = true;
    this.#take(1 - side)?.release();
  }

  #meet(): void {
    const [now, then] = this.#waiting;
    if (!now || !then) return;
    // Ours skips what the other side does not measure now.
    if (now.pair.id !== then.pair.id) {
      this.#take(0)?.release();
      return;
    }
    this.#take(0);
    this.#take(1);
    const both = [now, then];
    this.#measure(now.pair, then.pair).then(
      () => {
        for (const { release } of both) release();
      },
      (error) => {
        for (const { fail } of both) fail(error);
      },
    );
  }

  #take(side: number): Arrival | undefined {
    const arrival = this.#waiting[side];
    this.#waiting[side] = undefined;
    return arrival;
  }
}
