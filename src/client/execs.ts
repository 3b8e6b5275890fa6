// Detached commands: they outlive the call, the client and the server.
import type { ExecDetached, ExecItem, ExecLine, ExecOutputQuery, ExecRequest } from '../schema/exec.ts';
import { type CallTerms, type ExecTerms, keyedTerms, termsOf } from './call.ts';
import { ClientPart } from './client-part.ts';

export class ExecsClient extends ClientPart {
  /** Resolves with the id of the running command. */
  async detach(id: string, request: ExecRequest, terms: ExecTerms = {}): Promise<string> {
    const call = { params: { id }, json: { ...request, detach: true }, ...keyedTerms(terms) };
    return (await this.call<ExecDetached>('exec', call)).exec_id;
  }

  /** Newest first. */
  list(id: string, { signal }: CallTerms = {}): Promise<ExecItem[]> {
    return this.call('listExecs', { params: { id }, signal });
  }

  get(id: string, exec_id: string, { signal }: CallTerms = {}): Promise<ExecItem> {
    return this.call('getExec', { params: { id, exec_id }, signal });
  }

  /** The kept output of a detached command, then new output if `follow`. Leaving the loop leaves the command running. */
  async *output(
    id: string,
    exec_id: string,
    query: ExecOutputQuery = {},
    terms?: CallTerms | AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const call = { params: { id, exec_id }, query, signal: termsOf(terms).signal };
    yield* this.follow<ExecLine>('execOutput', call);
  }

  /** `name` is a signal such as SIGTERM. */
  async signal(id: string, exec_id: string, name: string, { signal }: CallTerms = {}): Promise<void> {
    const call = { params: { id, exec_id }, json: { signal: name }, signal };
    await this.call('signalExec', call);
  }
}
