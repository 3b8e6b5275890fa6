// Detached commands: they outlive the call, the client and the server.
import type { ExecDetached, ExecItem, ExecLine, ExecOutputQuery, ExecRequest } from '../schema/exec.ts';
import { type CallTerms, type Connection, type ExecTerms, sendForJson, termsOf } from './call.ts';
import { followedLines } from './lines.ts';

export class ExecsClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Resolves with the id of the running command. */
  async detach(id: string, request: ExecRequest, terms: ExecTerms = {}): Promise<string> {
    const { signal, idempotencyKey: key } = terms;
    const headers = key === undefined ? {} : { headers: { 'idempotency-key': key } };
    const call = { params: { id }, json: { ...request, detach: true }, signal, ...headers };
    return (await sendForJson<ExecDetached>(this.#connection, 'exec', call)).exec_id;
  }

  /** Newest first. */
  list(id: string, { signal }: CallTerms = {}): Promise<ExecItem[]> {
    return sendForJson(this.#connection, 'listExecs', { params: { id }, signal });
  }

  get(id: string, exec_id: string, { signal }: CallTerms = {}): Promise<ExecItem> {
    return sendForJson(this.#connection, 'getExec', { params: { id, exec_id }, signal });
  }

  /** The kept output of a detached command, then new output if `follow`. Leaving the loop leaves the command running. */
  async *output(
    id: string,
    exec_id: string,
    query: ExecOutputQuery = {},
    terms?: CallTerms | AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const call = { params: { id, exec_id }, query, signal: termsOf(terms).signal };
    yield* followedLines<ExecLine>(this.#connection, 'execOutput', call);
  }

  /** `name` is a signal such as SIGTERM. */
  async signal(id: string, exec_id: string, name: string, { signal }: CallTerms = {}): Promise<void> {
    const call = { params: { id, exec_id }, json: { signal: name }, signal };
    await sendForJson(this.#connection, 'signalExec', call);
  }
}
