// THE STORE SEAM: workers, and the leases under which they run sandboxes. A lease is acquired by the reservation of its
// sandbox and released by the sandbox's end, both in those transactions. store.ts says what holds for all.
import type { HeartbeatBody, Worker } from '../../schema/worker.ts';

/** `status` as the worker says, `drain` as administrators do. */
export type WorkerRecord = Omit<Worker, 'stale'>;

export interface LeaseRecord {
  /** The sandbox. */
  resource_id: string;
  /** The worker. */
  holder_id: string;
  /** 1 when acquired, +1 with each renewal. */
  generation: number;
  expires_at: string;
  created_at: string;
}

export interface WorkerStore {
  /**
   * A heartbeat at `at`: makes or changes the record. What `said` leaves out stays, `drain` always does. Throws
   * `resource_limit` for a new one when there are `most`.
   */
  heard(id: string, said: HeartbeatBody, at: string, most: number): Promise<WorkerRecord>;
  get(id: string): Promise<WorkerRecord | undefined>;
  /** By id. */
  list(): Promise<WorkerRecord[]>;
  /** Undefined when there is none. */
  drain(id: string, drain: boolean, at: string): Promise<WorkerRecord | undefined>;
  /** Only one without sandboxes that have not ended. */
  remove(id: string): Promise<'removed' | 'absent' | 'busy'>;
}

export interface LeaseStore {
  get(resource_id: string): Promise<LeaseRecord | undefined>;
  /** Soonest first. */
  list(): Promise<LeaseRecord[]>;
  /**
   * The next generation, never ending earlier than before. Undefined when `holder_id` does not hold it, or its sandbox
   * is neither creating, running nor unhealthy.
   */
  renew(resource_id: string, holder_id: string, expires_at: string): Promise<LeaseRecord | undefined>;
}
