// What the control plane offers to its edges (HTTP now). Types only; app/control-plane.ts builds it.
import type { Duplex, Readable } from 'node:stream';

import type { Exec } from '../agent/io.ts';
import type { PreviewTarget } from '../domain/preview.ts';
import type { EventReader } from '../events/feed.ts';
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
import type { FileInfo, FileWritten } from '../schema/file.ts';
import type { PoolStatus } from '../schema/pool.ts';
import type { PreviewLink, PreviewRequest } from '../schema/preview.ts';
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import type { Quota, QuotaListQuery, QuotaRequest, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
import type { Sandbox, SandboxListQuery, SpawnRequest } from '../schema/sandbox.ts';
import type { Health, Live, Ready } from '../schema/system.ts';
import type {
  Template,
  TemplateCreate,
  TemplateListQuery,
  TemplateSpawn,
  TemplateUpdate,
} from '../schema/template.ts';
import type { AuditLog } from './audit.ts';
import type { RateLimits } from './rate-limits.ts';

/** Who asks. `owner` is the validated X-User-ID. */
export interface Caller {
  role: 'admin' | 'api' | 'anonymous';
  owner?: string;
  /** A hash that stands for the credential: the scope of idempotency keys without an owner. */
  credential: string;
  request_id: string;
}

export interface Sandboxes {
  /** The whole of a spawn (api.md part 2). `signal` aborts when the client has gone; a spawn already `creating` is finished. */
  spawn(
    request: SpawnRequest,
    caller: Caller,
    options: { idempotencyKey?: string },
    signal: AbortSignal,
  ): Promise<Sandbox>;
  /** What a spawn of `request` would meet now; nothing is created. */
  admission(request: SpawnRequest, caller: Caller): Promise<AdmissionDecision>;
  get(id: string, caller: Caller): Promise<Sandbox>;
  list(query: SandboxListQuery, caller: Caller): Promise<{ sandboxes: Sandbox[]; next_cursor?: string }>;
  /** Resolves when it is gone, was gone, or was never there; throws while it cannot be confirmed gone. */
  destroy(id: string, caller: Caller): Promise<void>;
  extend(id: string, ttl: string, caller: Caller): Promise<Sandbox>;
  /** Ends expired ones now (the caller's own under owner enforcement); how many. */
  prune(caller: Caller): Promise<number>;
}

export type LiveRequest = ExecRequest & { tty?: { rows: number; cols: number } };

/** Both directions of a running command. */
export interface LiveExec extends Pick<Exec, 'exec_id' | 'stdin' | 'output' | 'exit' | 'resize'> {
  /** To its process group, by name. */
  signal(name: string): Promise<void>;
}

export interface Execs {
  run(id: string, request: ExecRequest, caller: Caller, signal: AbortSignal): Promise<ExecResult>;
  /** Rejects for everything that goes wrong before the first byte; then lines to the `exit` or `error` line. */
  stream(
    id: string,
    request: ExecRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ExecLine>>;
  /**
   * A command that the caller talks to while it runs. Aborting `signal` kills it, unless it is detached: then only the
   * talk ends.
   */
  open(id: string, request: LiveRequest, caller: Caller, signal: AbortSignal): Promise<LiveExec>;
  /** Resolves when it runs; it then lives on without the caller and without this server. */
  detach(id: string, request: ExecRequest, caller: Caller, signal: AbortSignal): Promise<ExecDetached>;
  /** All that run and the newest ended ones, newest first. */
  list(id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem[]>;
  get(id: string, exec_id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem>;
  /** The kept output of a detached one, then what comes when it follows; leaving it leaves the command running. */
  output(
    target: { id: string; exec_id: string },
    query: ExecOutputQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ExecLine>>;
  /** Throws `not_found` for one that has ended or never was, `bad_request` for a word that names no signal. */
  signal(target: { id: string; exec_id: string }, name: string, caller: Caller): Promise<void>;
}

export interface Previews {
  /** `seen`: scheme and port by which the caller reached us. `not_implemented` without a domain, or where there is no tunnel. */
  link(
    id: string,
    request: PreviewRequest,
    caller: Caller,
    seen: { scheme: 'http' | 'https'; port: string },
  ): Promise<PreviewLink>;
  /** When a token ends, in ms since 1970; undefined unless it opens `target` now. */
  endOfToken(target: PreviewTarget, token: string): number | undefined;
  /**
   * A connection to the port. Whoever asks has been let in. Aborting `signal`, also later, destroys it. `unavailable` with
   * status 502 when nothing listens or the sandbox is gone, `not_implemented` where there is no tunnel.
   */
  open(target: PreviewTarget, signal: AbortSignal): Promise<Duplex>;
}

/** What a sandbox writes outside of an exec that somebody reads: its console. */
export interface Logs {
  /** The last `lines`, oldest first. */
  read(id: string, lines: number, caller: Caller, signal: AbortSignal): Promise<string[]>;
  /** The same, then each line as it comes, until the caller leaves or the sandbox ends; undefined after 15 s of silence. */
  follow(
    id: string,
    lines: number,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogLine | undefined>>;
}

export interface Files {
  /** The half-open byte range wanted, as in RFC 9110 `bytes=`: first..last inclusive, or the last n bytes. */
  read(
    id: string,
    path: string,
    range: ByteRange | undefined,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<FileContentRead>;
  write(
    id: string,
    path: string,
    body: Readable | Buffer,
    options: { mode?: string },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<FileWritten>;
  stat(id: string, path: string, caller: Caller, signal: AbortSignal): Promise<FileInfo>;
  list(id: string, path: string, depth: number, caller: Caller, signal: AbortSignal): Promise<FileInfo[]>;
  glob(id: string, pattern: string, caller: Caller, signal: AbortSignal): Promise<string[]>;
  move(id: string, from: string, to: string, caller: Caller, signal: AbortSignal): Promise<void>;
  chmod(id: string, path: string, mode: string, caller: Caller, signal: AbortSignal): Promise<void>;
  mkdir(
    id: string,
    path: string,
    options: { mode?: string; parents: boolean },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void>;
  remove(id: string, path: string, recursive: boolean, caller: Caller, signal: AbortSignal): Promise<void>;
}

export type ByteRange = { first: number; last?: number } | { suffix: number };

export interface FileContentRead {
  info: FileInfo;
  content: Readable;
  /** Where `content` lies in the whole; undefined when it is the whole. */
  range?: { first: number; last: number };
  /** Bytes in `content`. */
  length: number;
}

export interface Templates {
  /** Values of `env` are masked for all but admins, here and in all that follows. */
  list(query: TemplateListQuery, caller: Caller): Promise<{ templates: Template[]; next_cursor?: string }>;
  get(name: string, caller: Caller): Promise<Template>;
  create(template: TemplateCreate, caller: Caller): Promise<Template>;
  /** Replaces all of it; with `versions` only one of these (`precondition_failed`). */
  update(
    name: string,
    template: TemplateUpdate,
    caller: Caller,
    options: { versions?: readonly number[] },
  ): Promise<Template>;
  delete(name: string): Promise<void>;
  /** As `Sandboxes.spawn`. */
  spawn(
    name: string,
    overrides: TemplateSpawn,
    caller: Caller,
    options: { idempotencyKey?: string },
    signal: AbortSignal,
  ): Promise<Sandbox>;
}

/** Limits of single owners. Under owner enforcement a caller that is no admin sees its own alone: others are `not_found`. */
export interface Quotas {
  /** Newest first. */
  list(query: QuotaListQuery, caller: Caller): Promise<{ quotas: Quota[]; next_cursor?: string }>;
  get(owner_id: string, caller: Caller): Promise<Quota>;
  /** Full replacement: what is omitted inherits. In force from the next spawn, extension or exec on. */
  put(owner_id: string, request: QuotaRequest, caller: Caller): Promise<Quota>;
  delete(owner_id: string, caller: Caller): Promise<void>;
  /** Also of an owner without a quota, or without any sandbox ever. */
  usage(owner_id: string, caller: Caller): Promise<QuotaUsage>;
  /** Counts without names: for every caller. */
  summary(): Promise<QuotaSummary>;
}

export interface ProviderViews {
  list(): Promise<ProviderItem[]>;
  /** Checks all now; by name. */
  test(): Promise<ProviderTests>;
  get(name: string): Promise<ProviderDetail>;
}

export interface EventViews {
  /**
   * Takes a place among the readers, to be given back with `end()`. `since` of the query: events after that id, else
   * those to come. Throws `bad_request` for an unknown kind, `unavailable` when too many read.
   */
  subscribe(query: EventQuery, caller: Caller): Promise<EventSubscription>;
}

export interface EventSubscription {
  /** Events have ids greater than this. */
  after: number;
  /** What was asked for is in part no longer kept: to be told first. */
  gap?: Event;
  /**
   * Hands out what is stored, then what comes. Resolves with `live` when only that is left, with `over` when no more
   * was asked for. To be called once; rejects when the store cannot be read.
   */
  run(reader: EventReader): Promise<'live' | 'over'>;
  /** The id up to which a live reader has been served, whether or not the events were for it. */
  position(): number;
  /** Nothing more is handed out. Idempotent. */
  end(): void;
}

export interface AnsweredRequest {
  /** A route's id, or `none`. */
  route: string;
  method: string;
  status: string;
  seconds: number;
}

export interface MetricViews {
  /** Counts a request whose answer is out. */
  request(answered: AnsweredRequest): void;
  body(): Promise<MetricsBody>;
  /** For Prometheus, with its media type. */
  text(): Promise<{ text: string; type: string }>;
  diagnostics(options: { logs: boolean }): Promise<Diagnostics>;
}

export interface PoolViews {
  status(): Promise<PoolStatus>;
}

export interface HealthViews {
  /** `full` false (no key): status words only. */
  live(full: boolean): Live;
  ready(full: boolean): Promise<Ready>;
  health(full: boolean): Promise<Health>;
}

export interface ControlPlane {
  sandboxes: Sandboxes;
  exec: Execs;
  logs: Logs;
  previews: Previews;
  files: Files;
  templates: Templates;
  quotas: Quotas;
  providers: ProviderViews;
  pool: PoolViews;
  events: EventViews;
  health: HealthViews;
  metrics: MetricViews;
  rates: RateLimits;
  audit: AuditLog;
  /** Reconciles, arms the timers, begins to serve. Never fails because a provider is down. */
  start(): Promise<void>;
  /** Refuses spawns that wait for a place, and those that come: the first step of a stop. */
  drain(): void;
  /** Ends background work and open sessions; sandboxes live on. */
  stop(): Promise<void>;
}
