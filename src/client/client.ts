// The typed client of the API. Shares paths and types with the server without loading it. All failures are ServiceErrors with
// the server's own code.
import type { Clock } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import type { RouteId } from '../http/paths.ts';
import type { AdmissionDecision } from '../schema/admission.ts';
import type { Event, EventQuery } from '../schema/event.ts';
import type { ExecRequest, ExecResult, LogLine } from '../schema/exec.ts';
import type { ListeningPort, PreviewLink } from '../schema/preview.ts';
import type {
  DestroyResult,
  PruneResult,
  Sandbox,
  SandboxListQuery,
  SpawnRequest,
} from '../schema/sandbox.ts';
import { AdminClient } from './admin.ts';
import {
  type CallOptions,
  type CallTerms,
  type Connection,
  callTerms,
  type ExecTerms,
  keyedTerms,
  nextOf,
  readJson,
  send,
  sendForJson,
  termsOf,
} from './call.ts';
import { CodeClient } from './code.ts';
import { type ClientOptions, connectionTo, type PipedOptions } from './connection.ts';
import { CredentialsClient } from './credentials.ts';
import { EgressClient } from './egress.ts';
import { followEvents } from './events.ts';
import type { ExecLine } from './exec-line.ts';
import { ExecsClient } from './execs.ts';
import { FilesClient } from './files.ts';
import { ImagesClient } from './images.ts';
import { KeysClient } from './keys.ts';
import { followedLines, jsonLines } from './lines.ts';
import { fetchPort, type PortRequest, waitForPort } from './ports.ts';
import { QuotasClient } from './quotas.ts';
import { Sandbox as SandboxHandle } from './sandbox.ts';
import type { AttachRequest, ExecSocket, SocketRequest } from './socket.ts';
import { SystemClient, WorkersClient } from './system.ts';
import { TemplatesClient } from './templates.ts';
import { UsageClient } from './usage.ts';

/** Filters; labels as `metadata.<key>`. */
export type ListQuery = SandboxListQuery & { [label: `metadata.${string}`]: string };

export interface SandboxPage {
  sandboxes: Sandbox[];
  next_cursor?: string;
}

const PAGE = 1000;

export class Client {
  readonly files: FilesClient;
  readonly templates: TemplatesClient;
  readonly quotas: QuotasClient;
  /** Detached commands. */
  readonly execs: ExecsClient;
  /** The code interpreters of sandboxes. */
  readonly code: CodeClient;
  /** Egress policies. */
  readonly egress: EgressClient;
  readonly images: ImagesClient;
  readonly system: SystemClient;
  readonly admin: AdminClient;
  /** Named keys. */
  readonly keys: KeysClient;
  /** Credentials that the server adds to requests of sandboxes. */
  readonly credentials: CredentialsClient;
  readonly workers: WorkersClient;
  /** What sandboxes use. */
  readonly usage: UsageClient;
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /** Sends nothing yet. Throws `bad_request` for an invalid address or key. */
  constructor(options: ClientOptions | PipedOptions) {
    this.#connection = connectionTo(options, this.#closing.signal);
    this.files = new FilesClient(this.#connection);
    this.templates = new TemplatesClient(this.#connection);
    this.quotas = new QuotasClient(this.#connection);
    this.execs = new ExecsClient(this.#connection);
    this.code = new CodeClient(this.#connection);
    this.egress = new EgressClient(this.#connection);
    this.images = new ImagesClient(this.#connection);
    this.system = new SystemClient(this.#connection);
    this.admin = new AdminClient(this.#connection);
    this.keys = new KeysClient(this.#connection);
    this.credentials = new CredentialsClient(this.#connection);
    this.workers = new WorkersClient(this.#connection);
    this.usage = new UsageClient(this.#connection);
  }

  /** The same key returns the same sandbox for 24 h. */
  spawn(request: SpawnRequest = {}, terms: ExecTerms = {}): Promise<Sandbox> {
    return this.#call('spawnSandbox', { json: request, ...keyedTerms(terms) });
  }

  /** Spawns a sandbox as an object, which `await using` destroys. */
  async create(request: SpawnRequest = {}, terms: ExecTerms = {}): Promise<SandboxHandle> {
    const record = await this.spawn(request, terms);
    return new SandboxHandle(this, record.id, record);
  }

  /** A sandbox that exists, as an object. Sends nothing. */
  sandbox(id: string): SandboxHandle {
    return new SandboxHandle(this, id);
  }

  /** Checks whether a spawn would be admitted now. Creates nothing. */
  admission(request: SpawnRequest = {}, terms: CallTerms = {}): Promise<AdmissionDecision> {
    return this.#call('admitSandbox', { json: request, ...terms });
  }

  get(id: string, terms: CallTerms = {}): Promise<Sandbox> {
    return this.#call('getSandbox', { params: { id }, ...terms });
  }

  /** One page, newest first. */
  async page(query: ListQuery = {}, terms: CallTerms = {}): Promise<SandboxPage> {
    const answer = await send(this.#connection, 'listSandboxes', { query, ...terms });
    return { sandboxes: await readJson<Sandbox[]>(answer, terms.signal), ...nextOf(answer) };
  }

  /** All sandboxes; fetches pages on demand. */
  async *list(query: ListQuery = {}, terms: CallTerms = {}): AsyncGenerator<Sandbox> {
    let cursor = query.cursor;
    do {
      const page = await this.page(cursor === undefined ? query : { ...query, cursor }, terms);
      yield* page.sandboxes;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  /** The first `most` sandboxes. */
  async listAll(query: ListQuery = {}, most = PAGE, terms: CallTerms = {}): Promise<Sandbox[]> {
    const found: Sandbox[] = [];
    for await (const sandbox of this.list({ ...query, limit: Math.min(most, PAGE) }, terms)) {
      found.push(sandbox);
      if (found.length >= most) break;
    }
    return found;
  }

  /** Resolves when the sandbox has ended, also if it never existed; `was_there` tells which. */
  destroy(id: string, terms: CallTerms = {}): Promise<DestroyResult> {
    return this.#call('destroySandbox', { params: { id }, ...terms });
  }

  /** Moves the end to now + `ttl` when that is later; with `exact`, also when it is earlier. */
  extend(
    id: string,
    ttl: string,
    { exact, ...terms }: CallTerms & { exact?: boolean } = {},
  ): Promise<Sandbox> {
    const json = { ttl, ...(exact !== undefined && { exact }) };
    return this.#call('extendSandbox', { params: { id }, json, ...terms });
  }

  prune(terms: CallTerms = {}): Promise<PruneResult> {
    return this.#call('pruneSandboxes', { ...terms });
  }

  /**
   * Waits for the command to end. A non-zero exit is a result; a timeout rejects with `timeout`, whose details hold the output
   * so far. The same key returns the result of the first call for 24 h; with a key, an abort leaves the command running.
   */
  exec(id: string, request: ExecRequest, terms?: ExecTerms | AbortSignal): Promise<ExecResult> {
    return this.#call('exec', { ...execOptions(id, terms), json: { ...request, stream: false } });
  }

  /** Yields lines up to the `exit` or `error` line. Leaving the loop or an abort kills the command. */
  async *execStream(
    id: string,
    request: ExecRequest,
    terms?: ExecTerms | AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const options = { ...execOptions(id, terms), json: { ...request, stream: true } };
    yield* jsonLines<ExecLine>(await send(this.#connection, 'exec', options), options.signal);
  }

  /** An interactive command: standard input, a terminal, signals. */
  async openExec(id: string, request: SocketRequest, terms: CallTerms = {}): Promise<ExecSocket> {
    const { ExecSocket } = await import('./socket.ts');
    return ExecSocket.open(this.#connection, id, { ...request, type: 'start' }, terms);
  }

  /** Follows a command that was opened with `keep`, with its input, also one that another client opened. */
  async attachExec(id: string, request: AttachRequest, terms: CallTerms = {}): Promise<ExecSocket> {
    const { ExecSocket } = await import('./socket.ts');
    return ExecSocket.open(this.#connection, id, { ...request, type: 'attach' }, terms);
  }

  /** The last lines of the console, oldest first. */
  logs(id: string, lines = 100, terms: CallTerms = {}): Promise<string[]> {
    return this.#call('sandboxLogs', { params: { id }, query: { lines }, ...terms });
  }

  /** The same, then new lines until the sandbox ends or the client is closed. */
  async *followLogs(id: string, lines = 100, terms?: CallTerms | AbortSignal): AsyncGenerator<string> {
    const call = { params: { id }, query: { lines, follow: true }, ...callTerms(termsOf(terms)) };
    for await (const { line } of followedLines<LogLine>(this.#connection, 'sandboxLogs', call)) yield line;
  }

  /** TCP ports on which programs of the sandbox listen. */
  ports(id: string, terms: CallTerms = {}): Promise<ListeningPort[]> {
    return this.#call('listPorts', { params: { id }, ...terms });
  }

  /** A link to `port` of the sandbox. A signed link expires after `ttl`. */
  preview(id: string, port: number, ttl?: string, terms: CallTerms = {}): Promise<PreviewLink> {
    const json = { port, ...(ttl !== undefined && { ttl }) };
    return this.#call('createPreview', { params: { id }, json, ...terms });
  }

  /** HTTP to a port of the sandbox. The answer is that of the program; redirects are not followed. */
  fetch(id: string, port: number, path = '/', request: PortRequest = {}): Promise<Response> {
    return fetchPort(this.#connection, { id, port }, path, request);
  }

  /** Resolves when a program answers HTTP on the port; rejects with `timeout` after 60 s unless `timeoutMs` is given. */
  waitForPort(id: string, port: number, terms: CallTerms = {}): Promise<void> {
    return waitForPort(this.#connection, { id, port }, terms);
  }

  /**
   * Yields each event once, in order; with `follow` false only stored events. Resumes a lost connection; throws if the first
   * connection fails.
   */
  events(
    query: EventQuery = {},
    options: { signal?: AbortSignal; clock?: Pick<Clock, 'sleep'> } = {},
  ): AsyncGenerator<Event> {
    return followEvents(this.#connection, query, { clock: realClock(), ...options });
  }

  /**
   * Ends streams that only follow (events, logs, output of detached commands), waits for calls in flight, and closes the
   * connections. A process can exit without it.
   */
  close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= this.#connection.dispatcher.close();
    return this.#closed;
  }

  #call<T>(id: RouteId, options: CallOptions = {}): Promise<T> {
    return sendForJson<T>(this.#connection, id, options);
  }
}

function execOptions(id: string, terms: ExecTerms | AbortSignal | undefined): CallOptions {
  return { params: { id }, timeoutMs: 0, ...keyedTerms(termsOf<ExecTerms>(terms)) };
}
