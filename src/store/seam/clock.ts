// THE STORE SEAM: the mark of the wall clock, and the stamps that move with it. store.ts has the rules for all tables.

/** The wall clock relative to the monotonic clock. */
export interface ClockMark {
  /** A mark is valid within its boot only. */
  boot_id: string;
  /** The wall clock (ms since 1970) minus ms since the boot; a whole number. */
  distance_ms: number;
}

/** The number of moved stamps. */
export interface MovedStamps {
  sandboxes: number;
  leases: number;
  workers: number;
  claims: number;
}

export interface ClockStore {
  /** The newest mark; undefined before the first. */
  mark(): Promise<ClockMark | undefined>;
  /**
   * Stores `mark` and moves by `shift_ms` (negative: back) what is compared with the wall clock: deadlines of active
   * sandboxes, ends of leases, last heartbeats, and ages of idempotency claims. Stamps that record when something
   * happened do not move.
   */
  set(mark: ClockMark, shift_ms: number): Promise<MovedStamps>;
}
