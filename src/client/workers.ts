// Workers through the API. Reads the unprefixed paths; changes need an admin key.
import type { HeartbeatBody, Worker } from '../schema/worker.ts';
import { type CallTerms, type Connection, sendForJson } from './call.ts';

export class WorkersClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** By id; `local` is the server itself. */
  list({ signal }: CallTerms = {}): Promise<Worker[]> {
    return sendForJson(this.#connection, 'listWorkers', { signal });
  }

  get(worker_id: string, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'getWorker', { params: { worker_id }, signal });
  }

  /** It takes no more sandboxes, or with `drain` false takes them again. */
  drain(worker_id: string, drain = true, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'drainWorker', { params: { worker_id }, json: { drain }, signal });
  }

  /** Throws `conflict` for `local` and while it holds sandboxes. */
  async remove(worker_id: string, { signal }: CallTerms = {}): Promise<void> {
    await sendForJson(this.#connection, 'removeWorker', { params: { worker_id }, signal });
  }

  /** Writes what a heartbeat of the worker would. */
  repair(worker_id: string, body: HeartbeatBody, { signal }: CallTerms = {}): Promise<Worker> {
    return sendForJson(this.#connection, 'repairWorker', { params: { worker_id }, json: body, signal });
  }
}
