// What a provider reads of a runtime: THE PROVIDER SEAM, continued.

/**
 * - `host`: counters of the kernel of this host. `engine`: an engine's words for those.
 * - `guest`: what the kernel or agent of a guest says, which the guest can forge. It is shown, and never metered.
 */
export type ReadingSource = 'host' | 'engine' | 'guest';

/** Counters begin at 0 and only grow while `counter` stays the same. A value that cannot be measured is absent. */
export interface Reading {
  /** Names the counters: a runtime that was started again has others. */
  counter: string;
  source: ReadingSource;
  /** Processor time, of all its processes, in µs. */
  cpu_us?: number;
  /** Memory in use, without pages of files that can be dropped. */
  memory_bytes?: number;
  peak_memory_bytes?: number;
  /** Processes that the kernel ended because the memory was used up. */
  oom_kills?: number;
  processes?: number;
  disk_bytes?: number;
  rx_bytes?: number;
  tx_bytes?: number;
}
