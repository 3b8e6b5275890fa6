// The typed client of the API. It shares the paths and shapes of the server and loads none of it. All failures are
// ServiceErrors with the server's own code.
import { Agent } from 'undici';
import { ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import type { AdmissionDecision } from '../schema/admission.ts';
import type { Diagnostics, MetricsBody } from '../schema/diagnostics.ts';
import type { Event, EventQuery } from '../schema/event.ts';
import type {
  ExecDetached,
  ExecItem,
  ExecLine,
  ExecOutputQuery,
  ExecRequest,
  ExecResult,
  LogLine,
} from '../schema/exec.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { ProviderDetail, ProviderItem } from '../schema/provider.ts';
import type { PruneResult, Sandbox, SandboxListQuery, SpawnRequest } from '../schema/sandbox.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import { AdminClient } from './client-admin.ts';
import { type CallOptions, type Connection, readJson, send, sendForJson } from './client-call.ts';
import { followEvents } from './client-events.ts';
import { FilesClient } from './client-files.ts';
import { jsonLines } from './client-lines.ts';
import { QuotasClient } from './client-quotas.ts';
import type { ExecSocket, SocketRequest } from './client-socket.ts';
import { TemplatesClient } from './client-templates.ts';
import type { RouteId } from './paths.ts';

export interface ClientOptions {
  /** `http://host:port`; a path is refused. */
  server: string;
  apiKey?: string;
  adminKey?: string;
  /** Sent as X-User-ID. */
  user?: string;
  /** How long a plain call may take; 120 s unless given. Execs end by their own deadline. */
  timeoutMs?: number;
}

/** Filters; labels as `metadata.<key>`. */
export type ListQuery = SandboxListQuery & { [label: `metadata.${string}`]: string };

export interface SandboxPage {
  sandboxes: Sandbox[];
  next_cursor?: string;
}

const TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Streams send a sign of life every 15 s. */
const SILENCE_MS = 90_000;
const PAGE = 1000;

export class Client {
  readonly files: FilesClient;
  readonly templates: TemplatesClient;
  readonly quotas: QuotasClient;
  readonly admin: AdminClient;
  readonly #connection: Connection;

  /** Nothing is sent yet. Throws `bad_request` for an address that is none. */
  constructor(options: ClientOptions) {
    const { origin } = addressOf(options.server);
    const headers: Record<string, string> = {};
    if (options.apiKey !== undefined) headers['x-api-key'] = options.apiKey;
    if (options.adminKey !== undefined) headers['x-admin-api-key'] = options.adminKey;
    if (options.user !== undefined) headers['x-user-id'] = options.user;
    for (const [name, value] of Object.entries(headers)) refuseControl(name, value);
    const dispatcher = new Agent({ connectTimeout: CONNECT_TIMEOUT_MS, bodyTimeout: SILENCE_MS });
    this.#connection = { dispatcher, origin, headers, timeoutMs: options.timeoutMs ?? TIMEOUT_MS };
    this.files = new FilesClient(this.#connection);
    this.templates = new TemplatesClient(this.#connection);
    this.quotas = new QuotasClient(this.#connection);
    this.admin = new AdminClient(this.#connection);
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
  admission(request: SpawnRequest = {}): Promise<AdmissionDecision> {
    return this.#call('admitSandbox', { json: request });
  }

  get(id: string): Promise<Sandbox> {
    return this.#call('getSandbox', { params: { id } });
  }

  /** One page, newest first. */
  async page(query: ListQuery = {}): Promise<SandboxPage> {
    const answer = await send(this.#connection, 'listSandboxes', {
      query: query,
    });
    const next = answer.headers['x-next-cursor'];
    const sandboxes = await readJson<Sandbox[]>(answer);
    return typeof next === 'string' ? { sandboxes, next_cursor: next } : { sandboxes };
  }

  /** All of them, page by page as they are asked for. */
  async *list(query: ListQuery = {}): AsyncGenerator<Sandbox> {
    let cursor = query.cursor;
    do {
      const page = await this.page(cursor === undefined ? query : { ...query, cursor });
      yield* page.sandboxes;
      cursor = page.next_cursor;
    } while (cursor !== undefined);
  }

  /** The first `most` of them. */
  async listAll(query: ListQuery = {}, most = PAGE): Promise<Sandbox[]> {
    const found: Sandbox[] = [];
    for await (const sandbox of this.list({ ...query, limit: Math.min(most, PAGE) })) {
      found.push(sandbox);
      if (found.length >= most) break;
    }
    return found;
  }

  /** Resolves when it is gone, also when it never was. */
  async destroy(id: string): Promise<void> {
    await this.#call('destroySandbox', { params: { id } });
  }

  extend(id: string, ttl: string): Promise<Sandbox> {
    return this.#call('extendSandbox', { params: { id }, json: { ttl } });
  }

  prune(): Promise<PruneResult> {
    return this.#call('pruneSandboxes');
  }

  /** Runs to the end. A non-zero exit is a result; the deadline is a `timeout` whose details hold the output so far. */
  exec(id: string, request: ExecRequest, signal?: AbortSignal): Promise<ExecResult> {
    return this.#call('exec', { params: { id }, json: { ...request, stream: false }, signal, timeoutMs: 0 });
  }

  /** Lines as they come, to the `exit` or `error` line. Leaving early, or an abort, kills the command. */
  async *execStream(id: string, request: ExecRequest, signal?: AbortSignal): AsyncGenerator<ExecLine> {
    const options = { params: { id }, json: { ...request, stream: true }, signal, timeoutMs: 0 };
    yield* jsonLines<ExecLine>(await send(this.#connection, 'exec', options), signal);
  }

  /** A command to talk to while it runs: standard input, a terminal, signals. */
  async openExec(id: string, request: SocketRequest): Promise<ExecSocket> {
    const { ExecSocket } = await import('./client-socket.ts');
    return ExecSocket.open(this.#connection, id, request);
  }

  /** Resolves when it runs; it lives on by itself. */
  async detach(id: string, request: ExecRequest): Promise<string> {
    const json = { ...request, detach: true };
    return (await this.#call<ExecDetached>('exec', { params: { id }, json })).exec_id;
  }

  /** Newest first. */
  execs(id: string): Promise<ExecItem[]> {
    return this.#call('listExecs', { params: { id } });
  }

  getExec(id: string, exec_id: string): Promise<ExecItem> {
    return this.#call('getExec', { params: { id, exec_id } });
  }

  /** The kept output of a detached command, then what comes when it follows. Leaving early leaves it running. */
  async *execOutput(
    id: string,
    exec_id: string,
    query: ExecOutputQuery = {},
    signal?: AbortSignal,
  ): AsyncGenerator<ExecLine> {
    const options = { params: { id, exec_id }, query, signal };
    yield* jsonLines<ExecLine>(await send(this.#connection, 'execOutput', options), signal);
  }

  /** `name` such as SIGTERM. */
  async signalExec(id: string, exec_id: string, name: string): Promise<void> {
    await this.#call('signalExec', { params: { id, exec_id }, json: { signal: name } });
  }

  /** The last lines of the console, oldest first. */
  logs(id: string, lines = 100): Promise<string[]> {
    return this.#call('sandboxLogs', { params: { id }, query: { lines } });
  }

  /** The same, then each line as it comes, until the sandbox ends. */
  async *followLogs(id: string, lines = 100, signal?: AbortSignal): AsyncGenerator<string> {
    const options = { params: { id }, query: { lines, follow: true }, signal };
    const answer = await send(this.#connection, 'sandboxLogs', options);
    for await (const { line } of jsonLines<LogLine>(answer, signal)) yield line;
  }

  poolStatus(): Promise<PoolStatus> {
    return this.#call('poolStatus');
  }

  providers(): Promise<ProviderItem[]> {
    return this.#call('listProviders');
  }

  provider(name: string): Promise<ProviderDetail> {
    return this.#call('getProvider', { params: { name } });
  }

  /**
   * Events as they come, each once, in order; with `follow` false those that are stored. A connection that is lost
   * later is made anew and resumed, `clock` telling when; one that cannot be made at first throws.
   */
  events(
    query: EventQuery,
    options: { clock: Pick<Clock, 'sleep'>; signal?: AbortSignal },
  ): AsyncGenerator<Event> {
    return followEvents(this.#connection, query, options);
  }

  /** Numbers as JSON. */
  metrics(): Promise<MetricsBody> {
    return this.#call('metrics');
  }

  diagnostics(): Promise<Diagnostics> {
    return this.#call('diagnostics');
  }

  live(): Promise<Live> {
    return this.#call('live');
  }

  /** Throws `unavailable` while no provider is healthy. */
  ready(): Promise<Ready> {
    return this.#call('ready');
  }

  health(): Promise<Health> {
    return this.#call('health');
  }

  /** Waits for calls in flight and closes the connections; a process ends without it too. */
  close(): Promise<void> {
    return this.#connection.dispatcher.close();
  }

  #call<T>(id: RouteId, options: CallOptions = {}): Promise<T> {
    return sendForJson<T>(this.#connection, id, options);
  }
}

function addressOf(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/' && !url.username && !url.search)
    return url;
  throw new ServiceError('bad_request', 'The server address is not valid.', {
    remedy: 'Write it like http://127.0.0.1:7423, without a path.',
  });
}

function refuseControl(name: string, value: string): void {
  if (/^[\x20-\x7e\x80-\xff]*$/.test(value)) return;
  throw new ServiceError('bad_request', `The value for ${name} holds characters that no header can carry.`);
}
