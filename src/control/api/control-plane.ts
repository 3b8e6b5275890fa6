// The interface that the control plane offers to its edges. Types only; `create.ts` builds it.
import type { Abort } from '../../domain/abort.ts';
import type { ByteLedger } from '../../domain/byte-ledger.ts';
import type { AdmissionDecision } from '../../schema/admission.ts';
import type { ExtendRequest, Sandbox, SandboxListQuery, SpawnRequest } from '../../schema/sandbox.ts';
import type { Caller } from './caller.ts';
import type { Code } from './code.ts';
import type { CredentialViews } from './credentials.ts';
import type { DataAccess } from './data-access.ts';
import type { EgressPolicies } from './egress.ts';
import type { EventViews } from './events.ts';
import type { Execs, Logs } from './execs.ts';
import type { Downloads, Files } from './files.ts';
import type { Images } from './images.ts';
import type { Keys, NamedKeys } from './keys.ts';
import type { Previews } from './previews.ts';
import type { Sessions } from './sessions.ts';
import type {
  AuditLog,
  HealthViews,
  MetricViews,
  PoolViews,
  ProviderViews,
  Quotas,
  RateLimits,
  SnapshotViews,
} from './system.ts';
import type { Templates } from './templates.ts';
import type { UsageViews } from './usage.ts';
import type { Workers } from './workers.ts';

export interface Sandboxes {
  /**
   * Spawns a sandbox (docs/design/api.md#sandboxes). `signal` aborts when the client disconnects: a spawn that is already
   * `creating` is then finished with an Idempotency-Key, and ended without one.
   */
  spawn(
    request: SpawnRequest,
    caller: Caller,
    options: { idempotencyKey?: string },
    signal: Abort,
  ): Promise<Sandbox>;
  /** What a spawn of `request` would get now; nothing is created. */
  admission(request: SpawnRequest, caller: Caller): Promise<AdmissionDecision>;
  get(id: string, caller: Caller): Promise<Sandbox>;
  list(query: SandboxListQuery, caller: Caller): Promise<{ sandboxes: Sandbox[]; next_cursor?: string }>;
  /** Resolves when the sandbox has ended: true when there was something to end. Throws while that is not confirmed. */
  destroy(id: string, caller: Caller): Promise<boolean>;
  extend(id: string, request: ExtendRequest, caller: Caller): Promise<Sandbox>;
  /** Ends expired sandboxes now (under owner enforcement only those of the caller) and counts them. */
  prune(caller: Caller): Promise<number>;
}

export interface ControlPlane {
  sandboxes: Sandboxes;
  exec: Execs;
  code: Code;
  logs: Logs;
  previews: Previews;
  /** Access by the tokens of sandboxes. */
  dataAccess: DataAccess;
  egress: EgressPolicies;
  credentials: CredentialViews;
  sessions: Sessions;
  files: Files;
  downloads: Downloads;
  templates: Templates;
  quotas: Quotas;
  usage: UsageViews;
  keys: Keys;
  /** Named keys as the edges look them up. */
  namedKeys: NamedKeys;
  providers: ProviderViews;
  pool: PoolViews;
  snapshots: SnapshotViews;
  images: Images;
  workers: Workers;
  events: EventViews;
  health: HealthViews;
  metrics: MetricViews;
  rates: RateLimits;
  audit: AuditLog;
  /** Accounts for everything large that is kept for a caller. */
  ledger: ByteLedger;
  /** Reconciles, starts the timers and begins to serve. Never fails because a provider is down. */
  start(): Promise<void>;
  /** The address that the server listens on, as `http://host:port`. */
  listening(address: string): void;
  /** Refuses queued and new spawns: the first step of a stop. */
  drain(): void;
  /** Ends background work and open sessions; sandboxes live on. */
  stop(): Promise<void>;
}
