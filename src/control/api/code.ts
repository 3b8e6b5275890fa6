// Code in a sandbox's interpreter, which keeps names and values from one execution to the next.
import type { Hold } from '../../domain/byte-ledger.ts';
import type {
  CodeContext,
  CodeContextRequest,
  CodeLine,
  CodeRequest,
  CodeResult,
} from '../../schema/code.ts';
import type { Caller } from './caller.ts';

/** How an edge changes a call: a deadline in ms instead of `timeout`, and the environment of an interpreter that it starts. */
export interface CodeTerms {
  caller: Caller;
  /** Aborts when the caller disconnects; the code is then interrupted. */
  signal: AbortSignal;
  /** Counts what is kept in memory. */
  hold: Hold;
  /** 0 is none; the owner's own maximum bounds it. */
  deadlineMs?: number;
  environment?: Record<string, string>;
  /** The user that runs an interpreter that it starts, as in `Files.as`. */
  user?: string | undefined;
}

/** All start the interpreter where it does not run. They throw `not_implemented` for a sandbox that has none (docs/e2b.md). */
export interface Code {
  /** Rejects for every failure before the first line; a later one is a line `failed`. */
  stream(id: string, request: CodeRequest, terms: CodeTerms): Promise<AsyncIterable<CodeLine>>;
  /** Throws `timeout` at the deadline, and `resource_limit` for output over what is left of `hold`. */
  run(id: string, request: CodeRequest, terms: CodeTerms): Promise<CodeResult>;
  contexts(id: string, terms: CodeTerms): Promise<CodeContext[]>;
  createContext(id: string, request: CodeContextRequest, terms: CodeTerms): Promise<CodeContext>;
  /** Forgets its names and values. What runs in it is stopped. Throws `not_found`. */
  restartContext(id: string, context_id: string, terms: CodeTerms): Promise<void>;
  removeContext(id: string, context_id: string, terms: CodeTerms): Promise<void>;
  /** Resolves when the interpreter answers. */
  ready(id: string, terms: CodeTerms): Promise<void>;
}
