// THE STORE SEAM: what a database that several processes use reports about itself. store.ts has the rules for all tables.

export interface SharedState {
  /** Events that are committed and have no id yet, and the age of the oldest one. */
  outbox_events: number;
  outbox_age_seconds: number;
  /** Standbys that are connected. */
  standbys: number;
  /** Whether a commit waits for a standby. */
  waits_for_standby: boolean;
}

export interface SharedDatabase {
  state(): Promise<SharedState>;
  /** Operations of this process that were repeated since its start: after a refusal, or because the answer was lost. */
  repetitions(): { refused: number; unknown: number };
}
