// THE STORE SEAM: what is known of the wall clock, and what moves with it. store.ts says what holds for all.

/** How the wall clock stood to a clock that nobody sets. */
export interface ClockMark {
  /** A mark says something within its boot only. */
  boot_id: string;
  /** The wall clock (ms since 1970) minus ms since the boot; a whole number. */
  distance_ms: number;
}

/** How many stamps were moved. */
export interface MovedStamps {
  sandboxes: number;
  leases: number;
  workers: number;
  claims: number;
}

export interface ClockStore {
  /** The newest; undefined before the first. */
  mark(): Promise<ClockMark | undefined>;
  /**
   * Keeps `mark`, and moves by `shift_ms` (below 0: back) what is compared with the wall clock: the deadlines of sandboxes
   * that have not ended, the ends of leases, the last heartbeats of workers and the ages of idempotency claims. What only
   * says when something happened stays.
   */
  set(mark: ClockMark, shift_ms: number): Promise<MovedStamps>;
}
