// Deleting what is too much, from those who have more than their share of it: rows of one owner never push out those of
// another that keeps few.
import { fairShares } from '../../domain/fair-shares.ts';
import { SWEEP_ROWS } from './methods.ts';

export interface Shared {
  /** Rows of each holder; null: of nobody. */
  counts(): { holder: string | null; count: number }[];
  /** Deletes at most so many rows of a holder, the oldest first; how many. */
  deleteOldest(holder: string | null, limit: number): number;
}

/** One bite of a sweep that leaves `most` rows in all: at most `limit` go; how many. */
export function deleteOverShare(shared: Shared, most: number, limit = SWEEP_ROWS): number {
  const asked = new Map(shared.counts().map(({ holder, count }) => [holder, count]));
  const shares = fairShares(asked, most);
  let left = limit;
  for (const [holder, count] of asked) {
    const over = count - (shares.get(holder) ?? 0);
    if (over > 0 && left > 0) left -= shared.deleteOldest(holder, Math.min(over, left));
  }
  return limit - left;
}
