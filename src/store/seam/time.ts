// THE STORE SEAM: the time that the control planes on a store agree on. store.ts has the rules for all tables.

export interface SharedTime {
  /** The clock of the database during the call, in ms since 1970. */
  database_ms: number;
  /** The agreed time minus the clock of the database. */
  offset_ms: number;
  /** The agreed time when the offset was stored; 0 before the first. */
  stored_ms: number;
  /** Those of all control planes together: 0 when there is none, and another number after each beat of any of them. */
  beats: number;
}

export interface TimeStore {
  read(): Promise<SharedTime>;
  /** Stores the offset if `holder` has the role `upkeep`; otherwise nothing is written. A repeat is harmless. */
  store(time: Pick<SharedTime, 'offset_ms' | 'stored_ms'>, holder: string): Promise<void>;
}
