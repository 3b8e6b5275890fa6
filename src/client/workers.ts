// Workers through the API. Reads the unprefixed paths; changes need an admin key.
import type { HeartbeatBody, Worker } from '../schema/worker.ts';
import { type Connection, sendForJson } from './call.ts';

export class WorkersClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** By id; `local` is the server itself. */
  list(): Promise<Worker[]> {
    return sendForJson(this.#connection, 'listWorkers');
  }

  get(worker_id: string): Promise<Worker> {
    return sendForJson(this.#connection, 'getWorker', { params: { worker_id } });
  }

  /** It takes no more sandboxes, or with `drain` false takes them again. */
  drain(worker_id: string, drain = true): Promise<Worker> {
    return sendForJson(this.#connection, 'drainWorker', { params: { worker_id }, json: { drain } });
  }

  /** Throws `conflict` for `local` and while it holds sandboxes. */
  async remove(worker_id: string): Promise<void> {
    await sendForJson(this.#connection, 'removeWorker', { params: { worker_id } });
  }

  /** Writes what a heartbeat of the worker would. */
  repair(worker_id: string, body: HeartbeatBody): Promise<Worker> {
    return sendForJson(this.#connection, 'repairWorker', { params: { worker_id }, json: body });
  }
}
