// What the control plane offers of its workers: to administrators, and to the workers themselves.
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import type { HeartbeatBody, RenewReply, Worker } from '../../schema/worker.ts';

export interface Workers {
  /** Lists workers, ordered by id. */
  list(): Promise<Worker[]>;
  get(id: string): Promise<Worker>;
  /** Records a heartbeat. Throws `conflict` for `local`, whose heartbeats are internal. `identity` is set when the worker calls. */
  heartbeat(id: string, body: HeartbeatBody, identity?: WorkerIdentity): Promise<Worker>;
  /** Sets whether the worker drains. It is notified at once if it can be called, else with its next heartbeat. */
  drain(id: string, drain: boolean): Promise<Worker>;
  /** Throws `conflict` for `local` and while it holds sandboxes. */
  remove(id: string): Promise<void>;
  /** Renews the lease. Throws `conflict` when the worker does not hold it or it has expired. */
  renew(identity: WorkerIdentity, resource_id: string, ttl: string | undefined): Promise<RenewReply>;
}
