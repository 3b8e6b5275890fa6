// Executions and contexts of a sandbox's interpreter. Its lines are checked: code in the sandbox can write any.
import type { IncomingMessage } from 'node:http';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { boundedDeadlineMs, execTimeoutMs } from '../../domain/exec-request.ts';
import { type JsonLineFormat, jsonLines, objectLine, readJsonLine } from '../../domain/json-lines.ts';
import { effectiveLimits } from '../../domain/quota.ts';
import {
  CodeContext,
  CodeLine,
  type CodeOutput,
  type CodeRequest,
  type CodeResult,
} from '../../schema/code.ts';
import { validator } from '../../schema/validator.ts';
import type { Code, CodeTerms } from '../api/code.ts';
import type { Settings } from '../records/settings.ts';
import { broken, Interpreter, type InterpreterDeps } from './interpreter.ts';

const MOST_LIST = 1024 * 1024;
const checkLine = validator(CodeLine, 'A line');
const checkContext = validator(CodeContext, 'A context');
const ENDS = ['end_of_execution', 'failed'];

const FORMAT: JsonLineFormat<CodeLine> = {
  bytes: 16 * 1024 * 1024,
  structure: { depth: 64, tokens: 400_000 },
  tooLong: () => badAnswer(),
  read: (value) => {
    const problem = checkLine(value);
    if (problem !== undefined) throw new Error(problem);
    return value as CodeLine;
  },
  invalid: (cause) => badAnswer(cause),
};

export interface CodeDeps extends InterpreterDeps {
  settings: Pick<Settings, 'exec' | 'ownerLimits'>;
}

export function codeRuns(deps: CodeDeps): Code {
  const interpreter = new Interpreter(deps);
  const stream: Code['stream'] = async (id, request, terms) => {
    if (request.context_id !== undefined && request.language !== undefined) throw twoContexts();
    const deadlineMs = await deadlineOf(deps, id, request, terms);
    const over = new AbortController();
    const timer = deadlineMs > 0 ? deps.clock.after(deadlineMs, () => over.abort()) : undefined;
    const signal = AbortSignal.any([terms.signal, over.signal]);
    const late = (error: unknown) => (over.signal.aborted && !terms.signal.aborted ? tooLate() : error);
    try {
      const answer = await interpreter.ask(id, questionOf(request), { ...terms, signal });
      return linesOf(answer, { late, done: () => timer?.cancel(), isLeft: () => terms.signal.aborted });
    } catch (error) {
      timer?.cancel();
      terms.signal.throwIfAborted();
      throw late(error);
    }
  };
  const one = async (id: string, path: string, method: 'POST' | 'DELETE', terms: CodeTerms) => {
    const answer = await interpreter.ask(id, { method, path: `/contexts/${path}` }, terms);
    answer.resume();
  };
  return {
    stream,
    run: async (id, request, terms) => resultOf(await stream(id, request, terms), terms),
    contexts: async (id, terms) => {
      const answer = await interpreter.ask(id, { method: 'GET', path: '/contexts' }, terms);
      const list = await jsonOf(answer);
      if (!Array.isArray(list)) throw badAnswer();
      return list.map(contextOf);
    },
    createContext: async (id, body, terms) =>
      contextOf(await jsonOf(await interpreter.ask(id, { method: 'POST', path: '/contexts', body }, terms))),
    restartContext: (id, name, terms) => one(id, `${encodeURIComponent(name)}/restart`, 'POST', terms),
    removeContext: (id, name, terms) => one(id, encodeURIComponent(name), 'DELETE', terms),
    ready: async (id, terms) => {
      (await interpreter.ask(id, { method: 'GET', path: '/health' }, terms)).resume();
    },
  };
}

function questionOf({ code, language, context_id, env }: CodeRequest) {
  const body = { code, language, context_id, env_vars: env };
  return { method: 'POST' as const, path: '/execute', body };
}

async function deadlineOf(
  { access, settings }: CodeDeps,
  id: string,
  { timeout }: CodeRequest,
  { caller, deadlineMs }: CodeTerms,
): Promise<number> {
  const { quota } = await access.findWithQuota(id, caller);
  const { maxExecTimeoutMs: maxMs, ownExecTimeoutMs: ownMs } = effectiveLimits(quota, settings.ownerLimits);
  const timeouts = { defaultMs: settings.exec.defaultMs, maxMs, ownMs };
  return deadlineMs === undefined
    ? execTimeoutMs(timeout, timeouts)
    : boundedDeadlineMs(deadlineMs, timeouts);
}

interface Ending {
  late(error: unknown): unknown;
  done(): void;
  /** Whether the caller has disconnected. */
  isLeft(): boolean;
}

/** Leaving early interrupts the code. */
async function* linesOf(answer: IncomingMessage, { late, done, isLeft }: Ending): AsyncGenerator<CodeLine> {
  let isOver = false;
  try {
    for await (const line of jsonLines(answer, FORMAT)) {
      isOver = ENDS.includes(line.type);
      yield line;
      if (isOver) return;
    }
    throw broken();
  } catch (error) {
    if (isLeft()) return;
    const failure = asServiceError(late(error instanceof ServiceError ? error : broken(error)));
    yield { type: 'failed', code: failure.code, message: failure.message };
  } finally {
    done();
    answer.destroy();
    answer.socket.destroy();
  }
}

/** All lines together. */
async function resultOf(lines: AsyncIterable<CodeLine>, { hold, signal }: CodeTerms): Promise<CodeResult> {
  const result: CodeResult = { results: [], stdout: '', stderr: '' };
  for await (const { type, ...line } of lines) {
    hold.grow(sizeOf(line));
    if (type === 'stdout' || type === 'stderr') result[type] += textOf(line.text);
    else if (type === 'result') result.results.push(outputOf(line));
    else if (type === 'number_of_executions' && Number.isSafeInteger(line.execution_count))
      result.execution_count = line.execution_count as number;
    else if (type === 'error')
      result.error = {
        name: textOf(line.name),
        value: textOf(line.value),
        traceback: textOf(line.traceback),
      };
    else if (type === 'failed')
      throw new ServiceError(line.code as ServiceError['code'], textOf(line.message));
  }
  signal.throwIfAborted();
  return result;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const TEXTS = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'pdf', 'latex', 'javascript'] as const;
const VALUES = ['json', 'data', 'chart', 'extra'] as const;

/** The members that we know, with the types that we know. */
function outputOf(line: Record<string, unknown>): CodeOutput {
  const output: CodeOutput = { is_main_result: line.is_main_result === true };
  for (const name of TEXTS) if (typeof line[name] === 'string') output[name] = line[name];
  for (const name of VALUES) if (line[name] !== undefined && line[name] !== null) output[name] = line[name];
  return output;
}

/** About as many bytes as its JSON. */
function sizeOf(line: Record<string, unknown>): number {
  return Object.values(line).reduce(
    (sum: number, value) =>
      sum + (typeof value === 'string' ? value.length : (JSON.stringify(value) ?? '').length) + 16,
    0,
  );
}

async function jsonOf(answer: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of answer) {
    size += (piece as Buffer).length;
    if (size > MOST_LIST) throw badAnswer();
    pieces.push(piece as Buffer);
  }
  return readJsonLine(Buffer.concat(pieces), { ...FORMAT, read: (value) => value });
}

function contextOf(value: unknown): CodeContext {
  const problem = checkContext(value);
  if (problem !== undefined) throw badAnswer(problem);
  return objectLine(value) as unknown as CodeContext;
}

function badAnswer(cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'The code interpreter sent an answer that is not valid.', {
    remedy: 'Check that no other program of the sandbox listens on port 49999.',
    cause,
  });
}

function tooLate(): ServiceError {
  return new ServiceError('timeout', 'The code did not end in time and was interrupted.', {
    remedy: 'Set a longer timeout.',
  });
}

function twoContexts(): ServiceError {
  return new ServiceError('bad_request', 'Only one of context_id or language can be provided');
}
