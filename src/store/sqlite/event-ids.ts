// Event ids that rise over restarts without a durable write for each: blocks are reserved durably before they are used,
// so an id given by a transaction that a power cut undid is never given again. A restart skips the rest of a block.
import type { Database } from 'better-sqlite3';

const BLOCK = 10_000;

export interface EventIds {
  /**
   * Makes sure that `count` ids can be taken. Outside of any transaction: it commits on the durable connection, which
   * a transaction of the other connection would lock out.
   */
  ensure(count: number): void;
  /** Inside the transaction that stores the event, so that ids follow commit order. */
  take(): number;
}

/** One for both connections. */
export function eventIds(durable: Database): EventIds {
  const reserve = durable
    .prepare('UPDATE event_ids SET reserved_through = reserved_through + ? RETURNING reserved_through')
    .pluck();
  let last = durable.prepare('SELECT reserved_through FROM event_ids').pluck().get() as number;
  let through = last;
  return {
    ensure: (count) => {
      if (through - last >= count) return;
      // all(), not get(): only a statement run to its end reports a commit that failed.
      through = reserve.all(Math.max(BLOCK, count))[0] as number;
    },
    take: () => ++last,
  };
}
