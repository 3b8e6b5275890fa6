// One sandbox as an object: the calls of the client without its id, and an end by `await using`.
import type { ExecRequest, ExecResult } from '../schema/exec.ts';
import type { ListeningPort, PreviewLink } from '../schema/preview.ts';
import type { DestroyResult, Sandbox as SandboxRecord } from '../schema/sandbox.ts';
import type { CallTerms, ExecTerms } from './call.ts';
import type { CodeClient } from './code.ts';
import type { EgressClient } from './egress.ts';
import type { ExecLine } from './exec-line.ts';
import type { ExecsClient } from './execs.ts';
import type { FilesClient } from './files.ts';
import type { PortRequest } from './ports.ts';
import type { AttachRequest, ExecSocket, SocketRequest } from './socket.ts';

/** The methods of a part of the client whose first argument is the id, without it. */
type Bound<Part, Name extends keyof Part> = {
  [N in Name]: Part[N] extends (id: string, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

function bound<Part, const Name extends keyof Part>(
  part: Part,
  id: string,
  names: readonly Name[],
): Bound<Part, Name> {
  const method = (name: Name) => (part[name] as (...all: unknown[]) => unknown).bind(part, id);
  return Object.fromEntries(names.map((name) => [name, method(name)])) as Bound<Part, Name>;
}

type FileCall =
  | 'open'
  | 'openArchive'
  | 'writeArchive'
  | 'read'
  | 'write'
  | 'stat'
  | 'list'
  | 'page'
  | 'link'
  | 'glob'
  | 'move'
  | 'chmod'
  | 'mkdir'
  | 'remove';
type ExecCall = 'detach' | 'list' | 'get' | 'output' | 'signal';
type CodeCall = 'run' | 'stream' | 'contexts' | 'createContext' | 'restartContext' | 'removeContext';
type EgressCall = 'get' | 'set' | 'log' | 'followLog' | 'suggest';
/** What a command takes beside its text. */
export type ExecOptions = Omit<ExecRequest, 'command' | 'stream' | 'detach'>;

/** The calls of the client that a sandbox has without its id. */
interface Calls {
  files: FilesClient;
  execs: ExecsClient;
  code: CodeClient;
  egress: EgressClient;
  get(id: string, terms: CallTerms): Promise<SandboxRecord>;
  extend(id: string, ttl: string, terms: CallTerms & { exact?: boolean }): Promise<SandboxRecord>;
  exec(id: string, request: ExecRequest, terms: ExecTerms): Promise<ExecResult>;
  execStream(id: string, request: ExecRequest, terms: ExecTerms): AsyncGenerator<ExecLine>;
  openExec(id: string, request: SocketRequest, terms: CallTerms): Promise<ExecSocket>;
  attachExec(id: string, request: AttachRequest, terms: CallTerms): Promise<ExecSocket>;
  logs(id: string, lines: number, terms: CallTerms): Promise<string[]>;
  ports(id: string, terms: CallTerms): Promise<ListeningPort[]>;
  preview(id: string, port: number, ttl: string | undefined, terms: CallTerms): Promise<PreviewLink>;
  fetch(id: string, port: number, path: string, request: PortRequest): Promise<Response>;
  waitForPort(id: string, port: number, terms: CallTerms): Promise<void>;
  destroy(id: string, terms: CallTerms): Promise<DestroyResult>;
}

export class Sandbox {
  readonly id: string;
  /** As the server described it last: at the spawn, and after `refresh` and `extend`. Undefined for `client.sandbox(id)`. */
  record: SandboxRecord | undefined;
  readonly files: Bound<FilesClient, FileCall>;
  /** Background commands. */
  readonly execs: Bound<ExecsClient, ExecCall>;
  /** The code interpreter. */
  readonly code: Bound<CodeClient, CodeCall>;
  readonly egress: Bound<EgressClient, EgressCall>;
  readonly #client: Calls;

  /** Sends nothing. */
  constructor(client: Calls, id: string, record?: SandboxRecord) {
    this.#client = client;
    this.id = id;
    this.record = record;
    const files = [
      'openArchive',
      'writeArchive',
      'open',
      'read',
      'write',
      'stat',
      'list',
      'page',
      'link',
      'glob',
      'move',
      'chmod',
      'mkdir',
      'remove',
    ] as const;
    this.files = bound(client.files, id, files);
    this.execs = bound(client.execs, id, ['detach', 'list', 'get', 'output', 'signal']);
    const code = ['run', 'stream', 'contexts', 'createContext', 'restartContext', 'removeContext'] as const;
    this.code = bound(client.code, id, code);
    this.egress = bound(client.egress, id, ['get', 'set', 'log', 'followLog', 'suggest']);
  }

  async refresh(terms: CallTerms = {}): Promise<SandboxRecord> {
    this.record = await this.#client.get(this.id, terms);
    return this.record;
  }

  /** Moves the end to now + `ttl` when that is later; with `exact`, also when it is earlier. */
  async extend(ttl: string, terms: CallTerms & { exact?: boolean } = {}): Promise<SandboxRecord> {
    this.record = await this.#client.extend(this.id, ttl, terms);
    return this.record;
  }

  /** Waits for the command to end. A non-zero exit is a result; a command that reaches its timeout rejects with `timeout`. */
  exec(command: string, options: ExecOptions = {}, terms: ExecTerms = {}): Promise<ExecResult> {
    return this.#client.exec(this.id, { ...options, command }, terms);
  }

  /** Yields output up to the `exit` or `error` line. Leaving the loop or an abort kills the command. */
  stream(command: string, options: ExecOptions = {}, terms: ExecTerms = {}): AsyncGenerator<ExecLine> {
    return this.#client.execStream(this.id, { ...options, command }, terms);
  }

  /** An interactive command: standard input, a terminal, signals. */
  open(
    command: string,
    options: Omit<SocketRequest, 'command'> = {},
    terms: CallTerms = {},
  ): Promise<ExecSocket> {
    return this.#client.openExec(this.id, { ...options, command }, terms);
  }

  /** Follows a command that was opened with `keep`, with its input. */
  attachExec(
    exec_id: string,
    size: Omit<AttachRequest, 'exec_id'> = {},
    terms: CallTerms = {},
  ): Promise<ExecSocket> {
    return this.#client.attachExec(this.id, { ...size, exec_id }, terms);
  }

  /** The last lines of the console, oldest first. */
  logs(lines = 100, terms: CallTerms = {}): Promise<string[]> {
    return this.#client.logs(this.id, lines, terms);
  }

  /** TCP ports on which programs listen. */
  ports(terms: CallTerms = {}): Promise<ListeningPort[]> {
    return this.#client.ports(this.id, terms);
  }

  /** A link to `port` for a browser. A signed link expires after `ttl`. */
  preview(port: number, ttl?: string, terms: CallTerms = {}): Promise<PreviewLink> {
    return this.#client.preview(this.id, port, ttl, terms);
  }

  /** HTTP to `port`. The answer is that of the program; redirects are not followed. */
  fetch(port: number, path = '/', request: PortRequest = {}): Promise<Response> {
    return this.#client.fetch(this.id, port, path, request);
  }

  /** Resolves when a program answers HTTP on `port`; rejects with `timeout` after 60 s unless `timeoutMs` is given. */
  waitForPort(port: number, terms: CallTerms = {}): Promise<void> {
    return this.#client.waitForPort(this.id, port, terms);
  }

  /** Resolves when it has ended, also if it had ended before. */
  destroy(terms: CallTerms = {}): Promise<DestroyResult> {
    return this.#client.destroy(this.id, terms);
  }

  /** Destroys it, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy();
  }
}
