// What the control plane offers of its workers: to administrators, and to the workers themselves.
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import type { HeartbeatBody, RenewReply, Worker } from '../../schema/worker.ts';

export interface Workers {
  /** By id. */
  list(): Promise<Worker[]>;
  get(id: string): Promise<Worker>;
  /** Throws `conflict` for `local`, which is heard only here. `identity` is that of the worker, when it is itself. */
  heartbeat(id: string, body: HeartbeatBody, identity?: WorkerIdentity): Promise<Worker>;
  /** What is wanted of it; it is told at once where it can be called, else with its next heartbeat. */
  drain(id: string, drain: boolean): Promise<Worker>;
  /** Throws `conflict` for `local` and while it holds sandboxes. */
  remove(id: string): Promise<void>;
  /** The next generation of the lease; `conflict` when the worker does not hold it or it is over. */
  renew(identity: WorkerIdentity, resource_id: string, ttl: string | undefined): Promise<RenewReply>;
}
