// THE STORE SEAM. One method is one transaction. Records in wire names, stamps as ISO 8601 with ms and Z (they sort
// as text). Absence is undefined.
//
// Several control planes (replicas) may work on one store. So a write names what it found, and writes nothing when that
// has changed. A write that rejects with `unavailable` may have happened: its caller reads again, or repeats it where
// the method says that this is harmless.
//
// Events get their ids from the store, in an order in which no reader of `events.since` misses one. Methods give events
// back without ids, as drafts that are committed; the caller delivers them.
import type { AdmissionDecision, AdmissionLimits, AdmissionRequest } from '../domain/admission.ts';
import type { SandboxEgress } from '../schema/egress.ts';
import type { EventDraft } from '../schema/event.ts';
import type { Quota } from '../schema/quota.ts';
import type { EndReason } from '../schema/sandbox.ts';
import type { SandboxState } from '../schema/sandbox-states.ts';
import type { AuditStore } from './seam/audit.ts';
import type { ClockStore } from './seam/clock.ts';
import type { StoreCondition } from './seam/condition.ts';
import type { EventStore } from './seam/events.ts';
import type { ExecStore } from './seam/execs.ts';
import type { KeyStore } from './seam/keys.ts';
import type { PoolStore } from './seam/pool.ts';
import type { PrewarmedStore } from './seam/prewarmed.ts';
import type { QuotaStore } from './seam/quotas.ts';
import type { ReplicaStore, RoleStore } from './seam/replicas.ts';
import type { RuntimeStore } from './seam/runtimes.ts';
import type { SecretStore } from './seam/secrets.ts';
import type { SessionStore } from './seam/sessions.ts';
import type { SharedDatabase } from './seam/shared-database.ts';
import type { SignalStore } from './seam/signals.ts';
import type { TemplateStore } from './seam/templates.ts';
import type { TicketStore } from './seam/tickets.ts';
import type { TimeStore } from './seam/time.ts';
import type { UsageStore } from './seam/usage.ts';
import type { LeaseStore, WorkerStore } from './seam/workers.ts';

/** Created with the database and never changed. `key` (32 bytes, hex) derives the secret of each sandbox's agent. */
export interface Instance {
  id: string;
  key: string;
  created_at: string;
}

/** Immutable: a store may return the same object as long as the row is unchanged. */
export interface SandboxRecord {
  readonly id: string;
  /** Increases by 1 with each claim of the row for a new attempt; a runtime carries the epoch that made it. */
  readonly epoch: number;
  readonly state: SandboxState;
  readonly provider: string;
  /** The requested values until `running`, then the actual ones. */
  readonly image: string;
  /** Digest of the image of the store that runs; absent for other roots. */
  readonly image_digest?: string;
  readonly memory_mb: number;
  readonly vcpus: number;
  readonly network: 'default' | 'none';
  readonly created_at: string;
  readonly expires_at: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  readonly worker_id: string;
  readonly owner_id?: string;
  readonly template?: string;
  readonly runtime_id?: string;
  /** In a pool: its VM, and its `uid` there. */
  readonly vm_id?: string;
  readonly uid?: number;
  readonly ended_at?: string;
  readonly end_reason?: EndReason;
  /** The actors that spawned and ended it (docs/design/api.md#actors); absent in rows of an earlier version. */
  readonly created_by?: string;
  readonly ended_by?: string;
  /** Differences between the request and the running sandbox; absent if there are none. */
  readonly warnings?: readonly string[];
  /** The replica that is starting or ending it; absent at rest, and in rows of an earlier version. */
  readonly replica_id?: string;
  /** Its egress policy, from `running` on; absent: it has the network of its provider. */
  readonly egress?: SandboxEgress;
}

/** A row, and the quota of its owner if there is one. */
export interface SandboxWithQuota {
  sandbox: SandboxRecord;
  quota?: Quota;
}

export interface IdempotencyClaim {
  /** The owner, or a hash of the credential. */
  scope: string;
  key: string;
  /** A hash of canonical body and path. */
  fingerprint: string;
}

/** The key was used before. `response` is the stored 201, absent until that spawn has finished. */
export interface Replay {
  kind: 'replay';
  sandbox_id: string;
  fingerprint: string;
  response?: string;
}

/** What `reserve` is asked for. */
export interface ReserveOrder {
  /** The row to write. Its `replica_id` is the replica that starts it. */
  sandbox: SandboxRecord;
  limits: AdmissionLimits;
  /** Stored with the row, in this order. */
  events: readonly EventDraft[];
  claim?: IdempotencyClaim | undefined;
  /**
   * The row replaces a ready prewarmed sandbox, at rest or claimed by `replica_id`; `response` is the 201 body to store under
   * the claim.
   */
  warm?: { response: string; replica_id?: string | undefined } | undefined;
  /** A ticket (`tickets`), which this admits: in the same transaction it ends, and its owner gets a new turn. */
  ticket?: { id: string; home: string } | undefined;
}

export type Reservation =
  /** `events` name the worker that was chosen. `turn`: the owner's new turn, with a ticket. */
  | { kind: 'reserved'; sandbox: SandboxRecord; events: EventDraft[]; turn?: number }
  | { kind: 'denied'; decision: AdmissionDecision }
  /** The prewarmed sandbox no longer exists, or another replica has claimed it. */
  | { kind: 'gone' }
  /** The ticket has ended, or has another home. */
  | { kind: 'no_ticket' }
  | Replay;

export interface SandboxFilter {
  state?: SandboxState;
  owner_id?: string;
  provider?: string;
  worker_id?: string;
  template?: string;
  metadata?: Record<string, string>;
  /** At most 100. */
  ids?: readonly string[];
  /** A text in its id, owner or template; A to Z and a to z are the same. Time grows with the number of rows that are looked at. */
  q?: string;
  /** Includes ended sandboxes; implied by `state`. */
  include_ended?: boolean;
  limit: number;
  /** The last record of the previous page. */
  after?: { created_at: string; id: string };
}

export type SandboxPatch = Partial<
  Pick<
    SandboxRecord,
    | 'state'
    | 'epoch'
    | 'image'
    | 'image_digest'
    | 'egress'
    | 'memory_mb'
    | 'vcpus'
    | 'runtime_id'
    | 'expires_at'
    | 'ended_at'
    | 'end_reason'
    | 'ended_by'
    | 'warnings'
  >
>;

export interface Transition {
  id: string;
  /** Compare-and-swap: the row must be in one of these states, with this epoch. */
  from: readonly SandboxState[];
  epoch: number;
  /** If given, the row must still have this deadline: an extension that was acknowledged in between wins. */
  expires_at?: string | undefined;
  /** If given, the lease must still have this generation: a renewal in between wins. */
  lease_generation?: number | undefined;
  patch: SandboxPatch;
  /** The replica that works on the row from now on; null: none. Left out: as before. */
  replica_id?: string | null | undefined;
  events: readonly EventDraft[];
  /** The 201 body to store under the row's idempotency key. A patch to `error` deletes the key. */
  response?: string;
}

/** A group of rows that have not ended. */
export interface SandboxGroup {
  state: SandboxState;
  provider: string;
  worker_id: string;
  count: number;
}

export interface SandboxStore {
  /**
   * Runs in one transaction: looks up a live idempotency claim, decides admission on the current counts and the owner's
   * quota (`domain/admission.decideAdmission`), and writes the `creating` row, the claim and the events. With
   * `limits.placement` a worker is chosen and named by the row, its lease (for remote workers) and `worker_id` in the
   * events. With `limits.pool` capacity in a VM is taken too: the row's `vm_id` is the id for a new VM, with its own
   * image and size. A claim is live while it holds a response or its row has not ended. An existing id is a `conflict`.
   * With `warm` the row replaces a ready prewarmed sandbox: same id and epoch, `running` at once, and `response` is
   * stored under the claim; a lease stays as it is. Concurrent reservations, of all replicas, never exceed a limit together.
   */
  reserve(order: ReserveOrder): Promise<Reservation>;
  /** Returns what `reserve` would decide, in one read. Writes nothing. */
  admission(request: AdmissionRequest, limits: AdmissionLimits): Promise<AdmissionDecision>;
  /**
   * Writes row and events in one transaction. Undefined, with nothing written, if the row is not as the change says:
   * state, epoch, and where they are given deadline and lease generation. A repeat after an unknown outcome returns
   * undefined if the first one was written.
   */
  transition(change: Transition): Promise<{ sandbox: SandboxRecord; events: EventDraft[] } | undefined>;
  /**
   * Sets expires_at from `was` to `expires_at`. Undefined, with nothing written, if the state is not in `from`, or the
   * deadline is neither of the two: a repeat is harmless.
   */
  extend(
    id: string,
    from: readonly SandboxState[],
    deadline: { was: string; expires_at: string },
  ): Promise<SandboxRecord | undefined>;
  get(id: string): Promise<SandboxRecord | undefined>;
  /** The same, only of what is durable: neither a crash nor a new primary takes back what the row says. */
  getDurable(id: string): Promise<SandboxRecord | undefined>;
  /** The same with the quota of its owner, in one read. */
  getWithQuota(id: string): Promise<SandboxWithQuota | undefined>;
  /** Newest first (created_at, then id, both descending). */
  list(filter: SandboxFilter): Promise<SandboxRecord[]>;
  /** Rows in states of `states`, oldest first, at most `limit`. */
  inStates(states: readonly SandboxState[], limit: number): Promise<SandboxRecord[]>;
  /** creating, running and unhealthy rows with expires_at <= now, soonest first; with `owner_id` only that owner's. */
  due(now: string, limit: number, owner_id?: string): Promise<SandboxRecord[]>;
  /** The soonest expires_at of creating, running and unhealthy rows. */
  nextDeadline(): Promise<string | undefined>;
  /** Counts rows that have not ended, in total and by provider. */
  countActive(): Promise<{ total: number; by_provider: Record<string, number> }>;
  /** Counts rows that have not ended by group. Time grows with the number of rows. */
  census(): Promise<SandboxGroup[]>;
  /**
   * Deletes rows that ended before `before`, then the oldest ended rows of owners above their fair share of `most`.
   * Returns the number deleted.
   */
  purgeEnded(before: string, most?: number): Promise<number>;
}

export interface IdempotencyStore {
  /** Returns what `reserve` would replay for this claim; undefined if it is free. */
  find(claim: IdempotencyClaim): Promise<Replay | undefined>;
  /** Deletes claims made before `before`, then the oldest claims of scopes above their fair share of `most`. */
  prune(before: string, most?: number): Promise<number>;
}

/** A commit that takes longer means that the disk is slow. */
export const SLOW_COMMIT_MS = 1000;

export interface CommitSpeed {
  /** The duration of the newest commit, or of the running one so far. */
  commit_ms: number;
}

export interface Store {
  instance: Instance;
  sandboxes: SandboxStore;
  templates: TemplateStore;
  quotas: QuotaStore;
  keys: KeyStore;
  sessions: SessionStore;
  secrets: SecretStore;
  warm: PrewarmedStore;
  events: EventStore;
  execs: ExecStore;
  usage: UsageStore;
  pool: PoolStore;
  workers: WorkerStore;
  leases: LeaseStore;
  idempotency: IdempotencyStore;
  audit: AuditStore;
  clock: ClockStore;
  /** Absent where one process has the store for itself: its time is that of its machine (`clock`). */
  time?: TimeStore;
  replicas: ReplicaStore;
  roles: RoleStore;
  /** Absent where one process has the store for itself: its queue is in memory. */
  tickets?: TicketStore;
  /** Absent where one process has the store for itself: it has them in memory. */
  runtimes?: RuntimeStore;
  signals: SignalStore;
  /** Absent where one process has the store for itself. */
  shared?: SharedDatabase;
  /** A cheap read that fails if the database does; a write after one that failed or was slow. */
  ping(): Promise<CommitSpeed>;
  /** What else is known about the database. Cheap. */
  condition(): StoreCondition;
  /** Idempotent. */
  close(): Promise<void>;
}
