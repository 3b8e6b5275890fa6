// Code in the interpreter of a sandbox, which keeps names and values between executions.
import type {
  CodeContext,
  CodeContextRequest,
  CodeContexts,
  CodeLine,
  CodeRequest,
  CodeResult,
} from '../schema/code.ts';
import type { CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';
import { jsonLines } from './lines.ts';

/** What an execution takes beside its code. */
export type CodeOptions = Omit<CodeRequest, 'code' | 'stream'>;

export class CodeClient extends ClientPart {
  /** An error in the code is part of the result. Aborting the call interrupts the code. */
  run(id: string, code: string, options: CodeOptions = {}, terms: CallTerms = {}): Promise<CodeResult> {
    const json = { ...options, code, stream: false };
    return this.call('runCode', { params: { id }, json, timeoutMs: 0, ...terms });
  }

  /** Lines while the code runs. Leaving the loop interrupts it. */
  async *stream(
    id: string,
    code: string,
    options: CodeOptions = {},
    terms: CallTerms = {},
  ): AsyncGenerator<CodeLine> {
    const json = { ...options, code, stream: true };
    const answer = await this.send('runCode', { params: { id }, json, timeoutMs: 0, ...terms });
    yield* jsonLines<CodeLine>(answer, terms.signal);
  }

  async contexts(id: string, terms: CallTerms = {}): Promise<CodeContext[]> {
    return (await this.call<CodeContexts>('listCodeContexts', { params: { id }, ...terms })).contexts;
  }

  createContext(id: string, request: CodeContextRequest = {}, terms: CallTerms = {}): Promise<CodeContext> {
    return this.call('createCodeContext', { params: { id }, json: request, ...terms });
  }

  /** Its names and values are lost. */
  async restartContext(id: string, context_id: string, terms: CallTerms = {}): Promise<void> {
    await this.call('restartCodeContext', { params: { id, context_id }, ...terms });
  }

  async removeContext(id: string, context_id: string, terms: CallTerms = {}): Promise<void> {
    await this.call('removeCodeContext', { params: { id, context_id }, ...terms });
  }
}
