// A pull that has ended, for events and metrics.

export interface PulledFacts {
  digest: string;
  /** Unpacked. */
  sizeBytes: number;
  /** Bytes of layers that came from a registry. */
  fetchedBytes: number;
  /** The store had the image, and the tag still leads to it. */
  isUnchanged: boolean;
}

export interface PullReport {
  image: string;
  durationMs: number;
  /** The owner whose spawn started it. */
  account: string | undefined;
  /** The worker that pulled; absent for this server. */
  workerId?: string;
  /** Undefined when it failed. */
  result: PulledFacts | undefined;
  error: unknown;
}

/** Pulls of this process. */
export interface PullReports {
  /** Called once for each pull that has ended. Must not throw. */
  onPulled: ((report: PullReport) => void) | undefined;
}
