// Detached commands: they outlive the call, the client and the server.
import type { ExecDetached, ExecItem, ExecOutputQuery, ExecRequest } from '../schema/exec.ts';
import { type CallTerms, callTerms, type ExecTerms, keyedTerms, termsOf } from './call.ts';
import { ClientPart } from './client-part.ts';
import type { ExecLine } from './exec-line.ts';

export class ExecsClient extends ClientPart {
  /** Resolves with the id of the running command. */
  async detach(id: string, request: ExecRequest, terms: ExecTerms = {}): Promise<string> {
    const call = { params: { id }, json: { ...request, detach: true }, ...keyedTerms(terms) };
    return (await this.call<ExecDetached>('exec', call)).exec_id;
  }

  /** Newest first. */
  list(id: string, terms: CallTerms = {}): Promise<ExecItem[]> {
    return this.call('listExecs', { params: { id }, ...terms });
  }

  get(id: string, exec_id: string, terms: CallTerms = {}): Promise<ExecItem> {
    return this.call('getExec', { params: { id, exec_id }, ...terms });
  }

  /** The kept output of a detached command, then new output if `follow`. Leaving the loop leaves the command running. */
  async *output(
    id: string,
    exec_id: string,
    query: ExecOutputQuery = {},
    terms?: CallTerms | AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const call = { params: { id, exec_id }, query, ...callTerms(termsOf(terms)) };
    yield* this.follow<ExecLine>('execOutput', call);
  }

  /** `name` is a signal such as SIGTERM. */
  async signal(id: string, exec_id: string, name: string, terms: CallTerms = {}): Promise<void> {
    const call = { params: { id, exec_id }, json: { signal: name }, ...terms };
    await this.call('signalExec', call);
  }
}
