// Sandboxes that are left on this machine, as `svc sandbox list --local` reports them.

export interface LocalSandbox {
  id: string;
  provider: string;
  runtime_id: string;
  /** The id of the database that the sandbox belongs to. */
  instance: string;
  /** `stopped`: it has ended, and its folders or its container are left. */
  state: 'running' | 'stopped';
  /** Whether the database has a record that has not ended. */
  recorded: boolean;
  /** ISO 8601. */
  created_at: string;
  /** ISO 8601; absent for ready sandboxes, pool VMs and runtimes without a record. */
  expires_at?: string;
}

export interface LocalReport {
  sandboxes: LocalSandbox[];
  /** Why a provider could not be read. */
  notes: string[];
}

export interface CleanReport extends LocalReport {
  /** False: nothing was ended, because nobody confirmed. */
  confirmed: boolean;
  /** The ids of the sandboxes that have ended. */
  ended: string[];
  /** The ids of those that could not be ended, with the reason in `notes`. */
  failed: string[];
}
