// Event ids that rise over restarts without a durable write for each: blocks are reserved durably before they are used,
// so an id given by a transaction that a power cut undid is never given again. A restart skips the rest of a block.
import type { Database } from 'better-sqlite3';

const BLOCK = 10_000;

export interface EventIds {
  /**
   * Makes sure that `count` ids can be taken. It writes on the durable connection, so outside of a transaction of the
   * other one, which would lock it out; inside one of its own, whoever rolls that back calls `reload`.
   */
  ensure(count: number): void;
  /** After a transaction or a savepoint was rolled back in which `ensure` may have reserved ids. Ids taken stay taken. */
  reload(): void;
  /** Inside the transaction that stores the event, so that ids follow commit order. */
  take(): number;
}

/** One for both connections. */
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
