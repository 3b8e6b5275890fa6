// Deletes rows in steps, so that no step holds locks for long, and excess rows of owners above their fair share.
import { fairShares } from '../../domain/fair-shares.ts';
import type { Statement, Value } from './connection.ts';
import type { Work } from './work.ts';

/** The maximum number of rows per step. */
export const SWEEP_ROWS = 1000;

/** `where` selects the rows of `table` by `id`; its last parameter is the limit. */
export function deleting(name: string, table: string, id: string, where: string): Statement {
  return {
    name,
    text: `WITH gone AS (DELETE FROM ${table} WHERE ${id} IN (SELECT ${id.replace(/[()]/g, '')} FROM ${table} ${where}) RETURNING 1)
      SELECT count(*) AS deleted FROM gone`,
  };
}

/** Repeats the step until it deletes less than a full one. Returns the number of deleted rows. */
export async function sweep(
  work: Work,
  statement: Statement,
  values: readonly Value[] = [],
): Promise<number> {
  for (let total = 0; ; ) {
    const deleted = await work.sweep({ ...statement, values: [...values, SWEEP_ROWS] });
    total += deleted;
    if (deleted < SWEEP_ROWS) return total;
  }
}

export interface Shares {
  /** Selects `holder` and `count`. */
  counts: Statement;
  /** Deletes the oldest rows of a holder: its parameters are holder and limit. */
  remove: Statement;
}

/** Leaves `most` rows in total: holders above their fair share lose their oldest. Returns the number of deleted rows. */
export async function sweepOverShare(work: Work, { counts, remove }: Shares, most: number): Promise<number> {
  const rows = await work.read<{ holder: string | null; count: number }>(counts);
  const counted = new Map(rows.map(({ holder, count }) => [holder, count]));
  const shares = fairShares(counted, most);
  let total = 0;
  for (const [holder, count] of counted)
    for (let over = count - (shares.get(holder) ?? 0); over > 0; over -= SWEEP_ROWS)
      total += await work.sweep({ ...remove, values: [holder, Math.min(over, SWEEP_ROWS)] });
  return total;
}
