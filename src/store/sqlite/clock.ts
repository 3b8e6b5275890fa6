// The wall clock in the database: its mark, and the stamps that move when the clock was set.
import type { Database } from 'better-sqlite3';
import type { ClockMark, ClockStore, MovedStamps } from '../seam/clock.ts';
import type { Executor } from './executor.ts';

const STAMPS: Record<keyof MovedStamps, { column: string; table: string; where: string }> = {
  sandboxes: {
    table: 'sandboxes INDEXED BY sandboxes_active',
    column: 'expires_at',
    where: "WHERE state IN ('creating', 'running', 'unhealthy', 'destroying')",
  },
  leases: { table: 'leases', column: 'expires_at', where: '' },
  workers: { table: 'workers', column: 'last_heartbeat', where: '' },
  claims: { table: 'idempotency', column: 'created_at', where: '' },
};

export function clockStore(db: Database, work: Executor): ClockStore {
  const get = db.prepare<[], ClockMark>('SELECT boot_id, distance_ms FROM clock_mark');
  const put = db.prepare<ClockMark>(
    `INSERT INTO clock_mark (one, boot_id, distance_ms) VALUES (1, @boot_id, @distance_ms)
       ON CONFLICT (one) DO UPDATE SET boot_id = excluded.boot_id, distance_ms = excluded.distance_ms`,
  );
  const move = Object.entries(STAMPS).map(([name, { table, column, where }]) => {
    // Stamps outside the calendar stay unchanged.
    const moved = `coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, @by), ${column})`;
    return [name, db.prepare<{ by: string }>(`UPDATE ${table} SET ${column} = ${moved} ${where}`)] as const;
  });
  const set = db.transaction((mark: ClockMark, shift_ms: number) => {
    put.run(mark);
    const by = `${shift_ms < 0 ? '-' : '+'}${(Math.abs(shift_ms) / 1000).toFixed(3)} seconds`;
    const counts = move.map(([name, update]) => [name, shift_ms === 0 ? 0 : update.run({ by }).changes]);
    return Object.fromEntries(counts) as MovedStamps;
  });
  return {
    mark: () => work.run(() => get.get()),
    set: (...args) => work.settle(() => set.immediate(...args)),
  };
}
