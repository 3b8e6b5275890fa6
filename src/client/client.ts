// The typed client of the API. It shares the paths and shapes of the server and loads none of it. All failures are
// ServiceErrors with the server's own code.
import type { Clock } from '../domain/ports.ts';
import { realClock } from '../host/clock.ts';
import type { RouteId } from '../http/paths.ts';
import type { AdmissionDecision } from '../schema/admission.ts';
import type { Event, EventQuery } from '../schema/event.ts';
import type { ExecLine, ExecRequest, ExecResult, LogLine } from '../schema/exec.ts';
import type { PreviewLink } from '../schema/preview.ts';
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
  type ExecTerms,
  readJson,
  send,
  sendForJson,
  termsOf,
} from './call.ts';
import { type ClientOptions, connectionTo } from './connection.ts';
import { followEvents } from './events.ts';
import { ExecsClient } from './execs.ts';
import { FilesClient } from './files.ts';
import { followedLines, jsonLines } from './lines.ts';
import { QuotasClient } from './quotas.ts';
import type { ExecSocket, SocketRequest } from './socket.ts';
import { SystemClient } from './system.ts';
import { TemplatesClient } from './templates.ts';
import { WorkersClient } from './workers.ts';

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
  /** Commands that run by themselves. */
  readonly execs: ExecsClient;
  readonly system: SystemClient;
  readonly admin: AdminClient;
  readonly workers: WorkersClient;
  readonly #connection: Connection;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  /** Nothing is sent yet. Throws `bad_request` for an address or a key that is none. */
  constructor(options: ClientOptions) {
    this.#connection = connectionTo(options, this.#closing.signal);
    this.files = new FilesClient(this.#connection);
    this.templates = new TemplatesClient(this.#connection);
    this.quotas = new QuotasClient(this.#connection);
    this.execs = new ExecsClient(this.#connection);
    this.system = new SystemClient(this.#connection);
    this.admin = new AdminClient(this.#connection);
    this.workers = new WorkersClient(this.#connection);
  }

  /** The same key gives the same sandbox for 24 h. */
  spawn(
    request: SpawnRequest = {},
    options: { idempotencyKey?: string; signal?: AbortSignal } = {},
  ): Promise<Sandbox> {
    const { idempotencyKey: key, signal } = options;
    return this.#call('spawnSandbox', {
      json: request,
      signal,
      ...(key !== undefined && { headers: { 'idempotency-key': key } }),
    });
  }

  /** What a spawn would meet now; nothing is created. */
  admission(request: SpawnRequest = {}, { signal }: CallTerms = {}): Promise<AdmissionDecision> {
    return this.#call('admitSandbox', { json: request, signal });
  }

  get(id: string, { signal }: CallTerms = {}): Promise<Sandbox> {
    return this.#call('getSandbox', { params: { id }, signal });
  }

  /** One page, newest first. */
  async page(query: ListQuery = {}, { signal }: CallTerms = {}): Promise<SandboxPage> {
    const answer = await send(this.#connection, 'listSandboxes', { query, signal });
    const next = answer.headers['x-next-cursor'];
    const sandboxes = await readJson<Sandbox[]>(answer, signal);
    return typeof next === 'string' ? { sandboxes, next_cursor: next } : { sandboxes };
  }

  /** All of them, page by page as they are asked for. */
  async *list(query: ListQuery = {}, terms: CallTerms = {}): AsyncGenerator<Sandbox> {
    let cursor = query.cursor;
    do {
      const page = await this.page(cursor === undefined ? query : { ...query, cursor }, terms);
      yield* page.sandboxes;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  /** The first `most` of them. */
  async listAll(query: ListQuery = {}, most = PAGE, terms: CallTerms = {}): Promise<Sandbox[]> {
    const found: Sandbox[] = [];
    for await (const sandbox of this.list({ ...query, limit: Math.min(most, PAGE) }, terms)) {
      found.push(sandbox);
      if (found.length >= most) break;
    }
    return found;
  }

  /** Resolves when it is gone, also when it never was: `was_there` says which. */
  destroy(id: string, { signal }: CallTerms = {}): Promise<DestroyResult> {
    return this.#call('destroySandbox', { params: { id }, signal });
  }

  extend(id: string, ttl: string, { signal }: CallTerms = {}): Promise<Sandbox> {
    return this.#call('extendSandbox', { params: { id }, json: { ttl }, signal });
  }

  prune({ signal }: CallTerms = {}): Promise<PruneResult> {
    return this.#call('pruneSandboxes', { signal });
  }

  /**
   * Runs to the end. A non-zero exit is a result; the deadline is a `timeout` whose details hold the output so far. The same
   * key gives the result of the first such call for 24 h, and an abort then leaves the command running.
   */
  exec(id: string, request: ExecRequest, terms?: ExecTerms | AbortSignal): Promise<ExecResult> {
    return this.#call('exec', { ...execOptions(id, terms), json: { ...request, stream: false } });
  }

  /** Lines as they come, to the `exit` or `error` line. Leaving early, or an abort, kills the command. */
  async *execStream(
    id: string,
    request: ExecRequest,
    terms?: ExecTerms | AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const options = { ...execOptions(id, terms), json: { ...request, stream: true } };
    yield* jsonLines<ExecLine>(await send(this.#connection, 'exec', options), options.signal);
  }

  /** A command to talk to while it runs: standard input, a terminal, signals. */
  async openExec(id: string, request: SocketRequest, terms: CallTerms = {}): Promise<ExecSocket> {
    const { ExecSocket } = await import('./socket.ts');
    return ExecSocket.open(this.#connection, id, request, terms);
  }

  /** The last lines of the console, oldest first. */
  logs(id: string, lines = 100, { signal }: CallTerms = {}): Promise<string[]> {
    return this.#call('sandboxLogs', { params: { id }, query: { lines }, signal });
  }

  /** The same, then each line as it comes, until the sandbox ends or the client is closed. */
  async *followLogs(id: string, lines = 100, terms?: CallTerms | AbortSignal): AsyncGenerator<string> {
    const call = { params: { id }, query: { lines, follow: true }, signal: termsOf(terms).signal };
    for await (const { line } of followedLines<LogLine>(this.#connection, 'sandboxLogs', call)) yield line;
  }

  /** A link to what the sandbox serves on `port`; where previews are signed it is good for `ttl`. */
  preview(id: string, port: number, ttl?: string, { signal }: CallTerms = {}): Promise<PreviewLink> {
    const json = { port, ...(ttl !== undefined && { ttl }) };
    return this.#call('createPreview', { params: { id }, json, signal });
  }

  /**
   * Events as they come, each once, in order; with `follow` false those that are stored. A connection that is lost
   * later is made anew and resumed; one that cannot be made at first throws.
   */
  events(
    query: EventQuery = {},
    options: { signal?: AbortSignal; clock?: Pick<Clock, 'sleep'> } = {},
  ): AsyncGenerator<Event> {
    return followEvents(this.#connection, query, { clock: realClock(), ...options });
  }

  /**
   * Ends what only follows (events, logs, the output of detached commands), waits for calls in flight, and closes the
   * connections; a process ends without it too.
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
  const { signal, idempotencyKey: key } = termsOf<ExecTerms>(terms);
  const headers = key === undefined ? {} : { headers: { 'idempotency-key': key } };
  return { params: { id }, signal, timeoutMs: 0, ...headers };
}
