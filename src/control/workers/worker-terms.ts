// The timeouts between server and workers (docs/design/api.md#workers), and the errors about a silent worker.
import { leaseTermMs } from '../../domain/lease.ts';
import type { WorkerRecord } from '../../store/seam/workers.ts';

const SHORTEST_STALE_MS = 60_000;

export interface WorkerTerms {
  heartbeatMs: number;
  /** A worker without a heartbeat for this long is stale. */
  staleMs: number;
  /** The term of a lease, unless renewed. */
  leaseMs: number;
}

export function workerTerms(heartbeatMs: number): WorkerTerms {
  return {
    heartbeatMs,
    staleMs: Math.max(SHORTEST_STALE_MS, 4 * heartbeatMs),
    leaseMs: leaseTermMs(heartbeatMs),
  };
}

/** `now` is the wall clock, in ms. */
export function isStale(
  { last_heartbeat }: Pick<WorkerRecord, 'last_heartbeat'>,
  { staleMs }: Pick<WorkerTerms, 'staleMs'>,
  now: number,
): boolean {
  return now - Date.parse(last_heartbeat) >= staleMs;
}
