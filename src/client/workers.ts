// Worker calls. Reads use the unprefixed paths; changes need an admin key.
import type { HeartbeatBody, Worker } from '../schema/worker.ts';
import { type CallTerms, type Connection, sendForJson } from './call.ts';

export class WorkersClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Sorted by id; `local` is the server itself. */
  list({ signal }: CallTerms = {}): Promise<Worker[]> {
    return sendForJson(this.#connection, 'listWorkers', { signal });
  }

  get(worker_id: string, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'getWorker', { params: { worker_id }, signal });
  }

  /** Stops assigning sandboxes to the worker; with `drain` false starts again. */
  drain(worker_id: string, drain = true, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'drainWorker', { params: { worker_id }, json: { drain }, signal });
  }

  /** Rejects with `conflict` for `local` and for a worker that has sandboxes. */
  async remove(worker_id: string, { signal }: CallTerms = {}): Promise<void> {
    await sendForJson(this.#connection, 'removeWorker', { params: { worker_id }, signal });
  }

  /** Overwrites the worker's status. */
  repair(worker_id: string, body: HeartbeatBody, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'repairWorker', { params: { worker_id }, json: body, signal });
  }
}
