// Deletes excess rows of owners above their fair share, so that one owner never displaces another's rows.
import type { Database } from 'better-sqlite3';
import { fairShares } from '../../domain/fair-shares.ts';
import { SWEEP_ROWS } from './methods.ts';

interface RowCount {
  holder: string | null;
  count: number;
}

export interface Shared {
  /** Row counts by holder; null means no holder. */
  counts(): RowCount[];
  /** Deletes at most `limit` rows of a holder, oldest first. Returns the number. */
  deleteOldest(holder: string | null, limit: number): number;
}

/** `counts` selects holder and count; `remove` takes a holder and a limit. */
export function sharedRows(db: Database, counts: string, remove: string): Shared {
  const [counting, removing] = [
    db.prepare<[], RowCount>(counts),
    db.prepare<[string | null, number]>(remove),
  ];
  return {
    counts: () => counting.all(),
    deleteOldest: (holder, limit) => removing.run(holder, limit).changes,
  };
}

/** One step of a sweep that leaves `most` rows in total: deletes at most `limit` rows and returns the number. */
export function deleteOverShare(shared: Shared, most: number, limit = SWEEP_ROWS): number {
  const counts = new Map(shared.counts().map(({ holder, count }) => [holder, count]));
  const shares = fairShares(counts, most);
  let left = limit;
  for (const [holder, count] of counts) {
    const over = count - (shares.get(holder) ?? 0);
    if (over > 0 && left > 0) left -= shared.deleteOldest(holder, Math.min(over, left));
  }
  return limit - left;
}
