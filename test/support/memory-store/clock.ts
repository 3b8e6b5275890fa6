// The wall clock and what moves with it, over the maps: the reference twin of sqlite/clock.ts.

import type { ClockMark, ClockStore } from '../../../src/store/seam/clock.ts';
import type { Tables } from './tables.ts';
import { active, copy } from './tables.ts';

export function memoryClock(tables: Tables): ClockStore {
  let known: ClockMark | undefined;
  return {
    mark: async () => copy(known),
    set: async (mark, shift_ms) => {
      known = copy(mark);
      const move = <F extends string>(rows: Iterable<Record<F, string>>, field: F): number => {
        if (shift_ms === 0) return 0;
        const all = [...rows];
        for (const row of all)
          Object.assign(row, { [field]: new Date(Date.parse(row[field]) + shift_ms).toISOString() });
        return all.length;
      };
      return {
        sandboxes: move(active(tables), 'expires_at'),
        leases: move(tables.leases.values(), 'expires_at'),
        workers: move(tables.workers.values(), 'last_heartbeat'),
        claims: move(tables.claims.values(), 'created_at'),
      };
    },
  };
}
