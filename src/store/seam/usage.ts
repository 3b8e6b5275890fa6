// THE STORE SEAM: the ledger of use. store.ts has the rules for all tables.
//
// The store itself opens a row when a sandbox begins to run and notes its end, each in the transaction of that change, so a
// crash loses neither. `settle` moves a row forward. All amounts are whole numbers, so that sums are exact.

/** What a sandbox, or all sandboxes of an owner in a time, have used. */
export interface UsageAmounts {
  /** Allocated: time, time × vcpus, time × MiB, in ms. */
  sandbox_ms: number;
  vcpu_ms: number;
  memory_mb_ms: number;
  /** Measured: processor time in µs, MiB × ms in use, bytes. */
  cpu_us: number;
  used_mb_ms: number;
  rx_bytes: number;
  tx_bytes: number;
  execs: number;
  exec_ms: number;
}

/** The last reading of the host's counters that is in the ledger. */
export interface UsageCounter {
  /** Names the counters: others start at zero. */
  counter: string;
  at: string;
  cpu_us: number;
  rx_bytes: number;
  tx_bytes: number;
  oom_kills: number;
}

/** One sandbox; ended ones too. */
export interface UsageRecord {
  sandbox_id: string;
  /** Empty: none. */
  owner_id: string;
  provider: string;
  /** Empty: none. */
  template: string;
  vcpus: number;
  memory_mb: number;
  /** When it was admitted: its `created_at`. */
  started_at: string;
  ended_at?: string;
  /** It was prewarmed: what it used before belongs to nobody. */
  claimed: boolean;
  /** Nothing is added any more. */
  settled: boolean;
  /** Grows with each `settle`. */
  version: number;
  /** Allocated time is in the ledger up to here. */
  metered_to: string;
  last?: UsageCounter;
  peak_memory_bytes: number;
  oom_kills: number;
  /** True if its end was not measured. */
  estimated: boolean;
  totals: UsageAmounts;
}

/** What a row gets. Nothing is written unless its version is `version`. */
export interface UsageChange
  extends Pick<
    UsageRecord,
    | 'sandbox_id'
    | 'version'
    | 'started_at'
    | 'metered_to'
    | 'last'
    | 'peak_memory_bytes'
    | 'oom_kills'
    | 'estimated'
    | 'settled'
  > {
  /** The number of an hour is that of hours since 1970, in UTC. The sum of all is added to the row as well. */
  hours: { hour: number; amounts: UsageAmounts }[];
}

export interface UsageRow {
  owner_id: string;
  /** The first hour of its time, since 1970 in UTC. */
  hour: number;
  provider: string;
  template: string;
  /** Sandboxes that were admitted in this time. */
  sandboxes: number;
  amounts: UsageAmounts;
}

export interface UsageFilter {
  owner_id?: string;
  /** Hours since 1970: the first included and the first excluded one. */
  from: number;
  to: number;
  /** Hours of one row: 1, 24, or 0 for one row of all. */
  step: number;
  /** Rows differ by these fields; the others are empty. */
  by: readonly ('owner_id' | 'provider' | 'template')[];
  limit: number;
}

export interface UsageSandboxFilter {
  owner_id: string;
  /** Sandboxes that ran at some time between these stamps. */
  from: string;
  to: string;
  limit: number;
  after?: { started_at: string; id: string };
}

export interface UsageStore {
  /** Rows that are not settled, by id, after the id `after`. */
  open(limit: number, after?: string): Promise<UsageRecord[]>;
  /** Rows of these sandboxes, at most 1000. */
  of(ids: readonly string[]): Promise<UsageRecord[]>;
  /**
   * One transaction: adds to rows and hours. Resolves with the ids that have now been written; a row that somebody else has
   * moved forward is left out. A repeat after an unknown outcome adds nothing.
   */
  settle(changes: readonly UsageChange[]): Promise<string[]>;
  /** Ordered by hour, owner, provider and template. */
  rows(filter: UsageFilter): Promise<UsageRow[]>;
  /** Newest first (started_at, then id, both descending). */
  sandboxes(filter: UsageSandboxFilter): Promise<UsageRecord[]>;
  /** Up to when everything is in the ledger; undefined before the first time. It never goes back. */
  completeUntil(): Promise<string | undefined>;
  complete(until: string): Promise<void>;
  /**
   * Joins hours before `hours` to days, deletes days before `days`, and sandboxes that ended before `sandboxes`. Returns the
   * number of rows that were removed.
   */
  purge(before: { hours: number; days: number; sandboxes: string }): Promise<number>;
}

export const AMOUNTS = [
  'sandbox_ms',
  'vcpu_ms',
  'memory_mb_ms',
  'cpu_us',
  'used_mb_ms',
  'rx_bytes',
  'tx_bytes',
  'execs',
  'exec_ms',
] as const satisfies readonly (keyof UsageAmounts)[];

export const noAmounts = (): UsageAmounts =>
  Object.fromEntries(AMOUNTS.map((name) => [name, 0])) as unknown as UsageAmounts;

/** Adds `more` to `sum`, and returns it. */
export function addAmounts(sum: UsageAmounts, more: UsageAmounts): UsageAmounts {
  for (const name of AMOUNTS) sum[name] += more[name];
  return sum;
}
