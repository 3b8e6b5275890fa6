// Event ids that increase across restarts without a durable write for each: blocks are reserved durably before use, so
// that an id from a transaction that a power failure undid is never reused. A restart skips the rest of a block.
import type { Database } from 'better-sqlite3';

const BLOCK = 10_000;

export interface EventIds {
  /**
   * Ensures that `count` ids are available. It writes on the durable connection, so call it outside a transaction of
   * the other one, which would lock it out. If its own transaction rolls back, call `reload`.
   */
  ensure(count: number): void;
  /**
   * Call it after a rollback of a transaction or savepoint in which `ensure` may have reserved ids. Taken ids stay
   * taken.
   */
  reload(): void;
  /** Call it inside the transaction that stores the event, so that ids follow the commit order. */
  take(): number;
}

/** Both connections share it. */
export function eventIds(durable: Database): EventIds {
  const reserve = durable
    .prepare('UPDATE event_ids SET reserved_through = reserved_through + ? RETURNING reserved_through')
    .pluck();
  const reserved = durable.prepare<[], number>('SELECT reserved_through FROM event_ids').pluck();
  let last = reserved.get() as number;
  let through = last;
  return {
    ensure: (count) => {
      if (through - last >= count) return;
      // all(), not get(): only a statement run to its end reports a commit that failed.
      through = reserve.all(Math.max(BLOCK, last + count - through))[0] as number;
    },
    reload: () => {
      through = reserved.get() as number;
    },
    take: () => ++last,
  };
}
