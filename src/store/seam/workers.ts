// THE STORE SEAM: workers, and the leases under which they run sandboxes. The reservation of a sandbox or of a prewarmed one
// acquires its lease and its end releases it, in the same transactions. store.ts has the rules for all tables.
import type { HeartbeatBody, Worker } from '../../schema/worker.ts';

/** The worker reports `status`, administrators set `drain`. */
export type WorkerRecord = Omit<Worker, 'stale' | 'free_sandboxes'>;

export interface LeaseRecord {
  /** The sandbox id. */
  resource_id: string;
  /** The worker id. */
  holder_id: string;
  /** 1 when acquired, +1 with each renewal. */
  generation: number;
  expires_at: string;
  created_at: string;
}

/** A worker that made its secret itself claims its id with it. */
export interface SecretClaim {
  /** SHA-256 of the secret, 64 hexadecimal digits. */
  secret_print: string;
  /** A worker without a heartbeat since then has lost its id to the next one. */
  silent_since: string;
}

export interface HeartbeatTerms {
  /** The maximum number of workers. */
  most: number;
  claim?: SecretClaim;
}

export interface WorkerStore {
  /**
   * Records a heartbeat at `at`: creates or updates the worker. Omitted fields and `drain` stay. Throws
   * `resource_limit` for a new worker if there are `most`, and `conflict` while the id is claimed with another secret.
   * Only another claim changes or refuses a claim.
   */
  heard(id: string, body: HeartbeatBody, at: string, terms: HeartbeatTerms): Promise<WorkerRecord>;
  get(id: string): Promise<WorkerRecord | undefined>;
  /** Sorted by id. */
  list(): Promise<WorkerRecord[]>;
  /** Undefined if there is no such worker. */
  drain(id: string, drain: boolean, at: string): Promise<WorkerRecord | undefined>;
  /** Removes a worker only if it has neither active nor prewarmed sandboxes. */
  remove(id: string): Promise<'removed' | 'absent' | 'busy'>;
}

export interface LeaseStore {
  get(resource_id: string): Promise<LeaseRecord | undefined>;
  /** Soonest end first. */
  list(): Promise<LeaseRecord[]>;
  /**
   * Returns the next generation, never with an earlier end. Undefined if `holder_id` does not hold the lease, or its
   * sandbox is neither creating, running, unhealthy nor prewarmed. The clock does not
   * matter: a lease is over when a control plane has seen its generation stand still. A repeat is harmless.
   */
  renew(resource_id: string, holder_id: string, expires_at: string): Promise<LeaseRecord | undefined>;
}
