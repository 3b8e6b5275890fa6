// The mark of the wall clock in PostgreSQL, and the stamps that move with it.
import type { ClockMark, ClockStore, MovedStamps } from '../seam/clock.ts';
import type { Statement } from './connection.ts';
import type { Work } from './work.ts';

const MARK: Statement = { name: 'clock-mark', text: 'SELECT boot_id, distance_ms FROM clock_mark' };
const SET: Statement = {
  name: 'clock-set',
  text: 'SELECT sandboxes, leases, workers, claims FROM svc_set_clock_17($1, $2, $3, $4, $5)',
};

export function clockStore(work: Work): ClockStore {
  return {
    mark: async () => (await work.read<ClockMark>(MARK))[0],
    set: async ({ boot_id, distance_ms }, shift_ms) => {
      const values = [boot_id, distance_ms, Math.round(shift_ms)];
      return (await work.once<MovedStamps & Record<string, unknown>>({ ...SET, values }))[0]!;
    },
  };
}
