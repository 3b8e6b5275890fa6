// The end of the control plane, in order.

interface Part {
  stop(): Promise<unknown>;
}

export interface Stopping {
  queue: Part;
  gates: Part;
  work: Part;
  feed: { close(): void };
  execLog: { close(): Promise<void> };
}

/** First what takes new work. Rejects as the first part that fails; the log of execs is closed in any case. */
export async function stopAll({ queue, feed, gates, work, execLog }: Stopping): Promise<void> {
  const queueStopped = queue.stop();
  feed.close();
  const gatesStopped = gates.stop();
  try {
    await queueStopped;
    await gatesStopped;
    await work.stop();
  } finally {
    await execLog.close();
  }
}
