// The agreed time of all processes in PostgreSQL: read and stored outside the pool, since waiting would falsify it.
import type { SharedTime, TimeStore } from '../seam/time.ts';
import type { Statement } from './connection.ts';
import type { OwnConnection } from './own-connection.ts';

const READ: Statement = {
  name: 'time-read',
  text: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS database_ms, offset_ms, stored_ms,
    (SELECT coalesce(sum(beats), 0)::float8 FROM replicas) AS beats FROM shared_time`,
};
const STORE: Statement = {
  name: 'time-store',
  text: `UPDATE shared_time SET offset_ms = $1, stored_ms = $2
    WHERE EXISTS (SELECT 1 FROM roles WHERE name = 'upkeep' AND holder = $3)`,
};

export function timeStore(own: OwnConnection): TimeStore {
  return {
    read: async () => (await own.run<SharedTime>(READ))[0]!,
    store: async ({ offset_ms, stored_ms }, holder) =>
      void (await own.run({ ...STORE, values: [offset_ms, stored_ms, holder] })),
  };
}
