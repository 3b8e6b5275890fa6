// The interpreter of one sandbox: a server in it (interpreter/), started at its first use and reached through the agent. What it
// answers comes from the sandbox, so all of it is bounded and checked.
import { type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { idleTimeout } from '../../domain/idle-timeout.ts';
import type { Clock } from '../../domain/ports.ts';
import type { SandboxAccess } from '../access/session-access.ts';
import type { CodeTerms } from '../api/code.ts';
import type { Execs } from '../api/execs.ts';
import type { Previews } from '../api/previews.ts';
import { LAUNCH, NO_INTERPRETER } from './interpreter-launch.ts';

export const INTERPRETER_PORT = 49_999;
const TOKEN = 'X-Code-Token';
const START_TIMEOUT = '90s';
/** A run writes a line at least each 5 s; a kernel that starts is silent. */
const SILENCE_MS = 75_000;
const MOST_HEAD = 16 * 1024;
const MOST_FAILURE = 64 * 1024;

export interface InterpreterDeps {
  access: SandboxAccess;
  exec: Pick<Execs, 'run'>;
  previews: Pick<Previews, 'open'>;
  clock: Clock;
  /** The text of the server's files; undefined: none are installed. */
  files: (() => Record<string, string>) | undefined;
  tokenOf(sandbox_id: string): string;
}

export interface Question {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: object;
}

export class Interpreter {
  readonly #deps: InterpreterDeps;
  readonly #starting = new Map<string, Promise<void>>();

  constructor(deps: InterpreterDeps) {
    this.#deps = deps;
  }

  /**
   * Its answer, whose body must be read or destroyed. Aborting `terms.signal` ends it. Throws `not_implemented` for a sandbox
   * without an interpreter, `not_found` and `bad_request` as the interpreter says.
   */
  async ask(id: string, question: Question, terms: CodeTerms): Promise<IncomingMessage> {
    const tunnel = await this.#connect(id, terms);
    const answer = await send(tunnel, question, { token: this.#deps.tokenOf(id), clock: this.#deps.clock });
    if (answer.statusCode === 200) return answer;
    throw await failureOf(answer);
  }

  async #connect(id: string, terms: CodeTerms): Promise<Duplex> {
    const target = { sandbox_id: id, port: INTERPRETER_PORT };
    const open = () => this.#deps.previews.open(target, terms.signal, terms.caller);
    try {
      return await open();
    } catch (error) {
      if (asServiceError(error).status !== 502) throw error;
      await this.#started(id, terms);
      return open();
    }
  }

  /** Callers of one sandbox share a start. */
  async #started(id: string, terms: CodeTerms): Promise<void> {
    const row = await this.#deps.access.find(id, terms.caller);
    const before = this.#starting.get(row.id);
    const start = before ?? this.#start(row.id, terms).finally(() => this.#starting.delete(row.id));
    this.#starting.set(row.id, start);
    await start;
  }

  async #start(id: string, { caller, hold, environment = {}, user }: CodeTerms): Promise<void> {
    const { exec, files, tokenOf } = this.#deps;
    if (!files) throw notInstalled();
    const settings = { files: files(), port: INTERPRETER_PORT, token: tokenOf(id), environment };
    const { signal } = new AbortController();
    const { exit_code, stdout } = await exec.run(
      id,
      { command: LAUNCH, env: environment, stdin: JSON.stringify(settings), timeout: START_TIMEOUT, user },
      caller,
      signal,
      hold,
    );
    if (exit_code === 0) return;
    if (exit_code === NO_INTERPRETER) throw notInstalled();
    const reason = String(stdout).slice(0, 1000);
    throw new ServiceError('provider_error', `The code interpreter did not start: ${reason || exit_code}`);
  }
}

function send(
  tunnel: Duplex,
  { method, path, body }: Question,
  { token, clock }: { token: string; clock: Clock },
): Promise<IncomingMessage> {
  const content = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    Host: 'interpreter',
    [TOKEN]: token,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(content),
  };
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown) => {
      watch.stop();
      tunnel.destroy();
      reject(broken(cause));
    };
    const connection = { maxHeaderSize: MOST_HEAD, setHost: false, createConnection: () => tunnel };
    const outgoing = request({ ...connection, method, path, headers });
    const watch = idleTimeout(clock, SILENCE_MS, () => tunnel.destroy());
    tunnel.on('data', watch.touch).once('close', watch.stop);
    outgoing.once('response', resolve).once('error', fail).once('close', fail);
    outgoing.end(content);
  });
}

async function failureOf(answer: IncomingMessage): Promise<ServiceError> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of answer) {
    size += (piece as Buffer).length;
    if (size > MOST_FAILURE) break;
    pieces.push(piece as Buffer);
  }
  answer.destroy();
  const message = messageOf(Buffer.concat(pieces).toString());
  const code = CODES[answer.statusCode ?? 0] ?? 'provider_error';
  return new ServiceError(code, message.slice(0, 1000));
}

const CODES: Record<number, ServiceError['code']> = {
  400: 'bad_request',
  404: 'not_found',
  413: 'payload_too_large',
  429: 'resource_limit',
  501: 'not_implemented',
};

function messageOf(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // Another program listens on the port.
  }
  return 'The code interpreter answered with a failure.';
}

export function broken(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The connection to the code interpreter broke.', {
    remedy: 'Run the code again. Names and values of the context may be lost.',
    cause,
  });
}

function notInstalled(): ServiceError {
  return new ServiceError('not_implemented', 'This sandbox has no code interpreter.', {
    remedy:
      'Install python3 with ipykernel where the sandbox finds them: on Debian, apt-get install python3-ipykernel.',
  });
}
