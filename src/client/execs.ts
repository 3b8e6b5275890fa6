// Commands that run by themselves, through the client: they outlive the call, the client and the server.
import type { ExecDetached, ExecItem, ExecLine, ExecOutputQuery, ExecRequest } from '../schema/exec.ts';
import { type Connection, send, sendForJson } from './call.ts';
import { jsonLines } from './lines.ts';

export class ExecsClient {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Resolves with the id of the command when it runs. */
  async detach(id: string, request: ExecRequest): Promise<string> {
    const json = { ...request, detach: true };
    return (await sendForJson<ExecDetached>(this.#connection, 'exec', { params: { id }, json })).exec_id;
  }

  /** Newest first. */
  list(id: string): Promise<ExecItem[]> {
    return sendForJson(this.#connection, 'listExecs', { params: { id } });
  }

  get(id: string, exec_id: string): Promise<ExecItem> {
    return sendForJson(this.#connection, 'getExec', { params: { id, exec_id } });
  }

  /** The kept output of a detached command, then what comes when it follows. Leaving early leaves it running. */
  async *output(
    id: string,
    exec_id: string,
    query: ExecOutputQuery = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const options = { params: { id, exec_id }, query, signal };
    yield* jsonLines<ExecLine>(await send(this.#connection, 'execOutput', options), signal);
  }

  /** `name` such as SIGTERM. */
  async signal(id: string, exec_id: string, name: string): Promise<void> {
    await sendForJson(this.#connection, 'signalExec', { params: { id, exec_id }, json: { signal: name } });
  }
}
