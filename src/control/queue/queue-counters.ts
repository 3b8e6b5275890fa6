// Counts what the spawn queue has done since the start, for metrics and diagnostics.

export interface QueueCounts {
  queued_total: number;
  /** Spawns that were started. */
  dequeued_total: number;
  timeouts: number;
  /** Waits of spawns that were started. */
  wait_total_ms: number;
  wait_max_ms: number;
  wait_avg_ms: number;
}

export class QueueCounters {
  #queued = 0;
  #dequeued = 0;
  #timeouts = 0;
  #waited = 0;
  #longest = 0;

  queued(): void {
    this.#queued++;
  }

  dequeued(waitMs: number): void {
    this.#dequeued++;
    this.#waited += waitMs;
    this.#longest = Math.max(this.#longest, waitMs);
  }

  timedOut(): void {
    this.#timeouts++;
  }

  counts(): QueueCounts {
    return {
      queued_total: this.#queued,
      dequeued_total: this.#dequeued,
      timeouts: this.#timeouts,
      wait_total_ms: this.#waited,
      wait_max_ms: this.#longest,
      wait_avg_ms: this.#dequeued === 0 ? 0 : this.#waited / this.#dequeued,
    };
  }
}
