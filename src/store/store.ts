// THE STORE SEAM. One method is one transaction. Records in wire names, stamps as ISO 8601 with ms and Z (they sort
// as text). Absence is undefined. The store gives events their ids in commit order; who calls delivers them afterwards.
import type { AdmissionDecision, AdmissionLimits, AdmissionRequest } from '../domain/admission.ts';
import type { Event, EventDraft } from '../schema/event.ts';
import type { EndReason } from '../schema/sandbox.ts';
import type { SandboxState } from '../schema/sandbox-states.ts';
import type { AuditStore } from './seam/audit.ts';
import type { ClockStore } from './seam/clock.ts';
import type { StoreCondition } from './seam/condition.ts';
import type { EventStore } from './seam/events.ts';
import type { PoolStore } from './seam/pool.ts';
import type { PrewarmedStore } from './seam/prewarmed.ts';
import type { QuotaStore } from './seam/quotas.ts';
import type { TemplateStore } from './seam/templates.ts';
import type { LeaseStore, WorkerStore } from './seam/workers.ts';

/** Made with the database, never changes. `key` (32 bytes, hex) derives the secret of each sandbox's agent. */
export interface Instance {
  id: string;
  key: string;
  created_at: string;
}

/** Never changed once it is handed out: a store may give the same one again as long as the row stays as it is. */
export interface SandboxRecord {
  readonly id: string;
  /** +1 on each claim of the row for a new attempt; a runtime carries the epoch that made it. */
  readonly epoch: number;
  readonly state: SandboxState;
  readonly provider: string;
  /** What was asked until `running`, then what really runs. */
  readonly image: string;
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
  /** In a pool: the VM it is in, and its `uid` there. */
  readonly vm_id?: string;
  readonly uid?: number;
  readonly ended_at?: string;
  readonly end_reason?: EndReason;
  /** How what runs differs from what was asked; absent: in nothing. */
  readonly warnings?: readonly string[];
}

export interface IdempotencyClaim {
  /** Owner, or a hash of the credential. */
  scope: string;
  key: string;
  /** Hash of canonical body and path. */
  fingerprint: string;
}

/** The key was used before: `response` is the stored 201, absent while that spawn has not finished. */
export interface Replay {
  kind: 'replay';
  sandbox_id: string;
  fingerprint: string;
  response?: string;
}

export type Reservation =
  | { kind: 'reserved'; sandbox: SandboxRecord; events: Event[] }
  | { kind: 'denied'; decision: AdmissionDecision }
  /** The warm sandbox that was to be taken is not there any more. */
  | { kind: 'gone' }
  | Replay;

export interface SandboxFilter {
  state?: SandboxState;
  owner_id?: string;
  provider?: string;
  worker_id?: string;
  template?: string;
  metadata?: Record<string, string>;
  /** Ended ones too; implied by `state`. */
  include_ended?: boolean;
  limit: number;
  /** The last record of the page before. */
  after?: { created_at: string; id: string };
}

export type SandboxPatch = Partial<
  Pick<
    SandboxRecord,
    | 'state'
    | 'epoch'
    | 'image'
    | 'memory_mb'
    | 'vcpus'
    | 'runtime_id'
    | 'expires_at'
    | 'ended_at'
    | 'end_reason'
    | 'warnings'
  >
>;

export interface Transition {
  id: string;
  /** Compare-and-swap: the row must be in one of these states, with this epoch. */
  from: readonly SandboxState[];
  epoch: number;
  patch: SandboxPatch;
  events: EventDraft[];
  /** The 201 body to keep under the row's idempotency key. A patch to `error` forgets the key. */
  response?: string;
}

/** Rows that have not ended and have these in common. */
export interface SandboxGroup {
  state: SandboxState;
  provider: string;
  worker_id: string;
  count: number;
}

export interface SandboxStore {
  /**
   * In one transaction: a live idempotency claim is looked up, admission decided on the present counts and the owner's
   * quota (`domain/admission.decideAdmission`), the `creating` row, the claim and the events written.
   * With `limits.placement` a worker is chosen, and the row, its lease (of another worker) and `worker_id` in the events say which.
   * With `limits.pool` a place is taken too: the row's `vm_id` is the id that a new VM would get, image and sizes its own.
   * A claim is live while it holds a response or its row has not ended. An id that is there already: `conflict`.
   * With `warm` the row is that of a ready warm sandbox, which ceases to be one: same id and epoch, `running` at once,
   * `response` kept under the claim.
   */
  reserve(
    sandbox: SandboxRecord,
    limits: AdmissionLimits,
    events: EventDraft[],
    claim?: IdempotencyClaim,
    warm?: { response: string },
  ): Promise<Reservation>;
  /** What `reserve` would decide, in one read; nothing is written. */
  admission(request: AdmissionRequest, limits: AdmissionLimits): Promise<AdmissionDecision>;
  /** Row and events in one transaction; undefined when state or epoch were not as said (nothing is written). */
  transition(change: Transition): Promise<{ sandbox: SandboxRecord; events: Event[] } | undefined>;
  /** Sets expires_at to the later of the present value and `expires_at`, in a state of `from`; undefined when not. */
  extend(id: string, from: readonly SandboxState[], expires_at: string): Promise<SandboxRecord | undefined>;
  get(id: string): Promise<SandboxRecord | undefined>;
  /** Newest first (created_at, then id, both descending). */
  list(filter: SandboxFilter): Promise<SandboxRecord[]>;
  /** Rows in states of `states`, oldest first, at most `limit`. */
  inStates(states: readonly SandboxState[], limit: number): Promise<SandboxRecord[]>;
  /** creating, running and unhealthy rows with expires_at <= now, soonest first; with `owner_id` only that owner's. */
  due(now: string, limit: number, owner_id?: string): Promise<SandboxRecord[]>;
  /** The soonest expires_at of creating, running and unhealthy rows. */
  nextDeadline(): Promise<string | undefined>;
  /** Rows that have not ended, in all and by provider. */
  countActive(): Promise<{ total: number; by_provider: Record<string, number> }>;
  /** Rows that have not ended, counted; no group is empty. Takes as long as there are rows. */
  census(): Promise<SandboxGroup[]>;
  /**
   * Deletes rows that ended before `before`, and then the first that ended of owners that have more than a fair share of
   * `most`; the number deleted.
   */
  purgeEnded(before: string, most?: number): Promise<number>;
}

export interface IdempotencyStore {
  /** What `reserve` would replay for this claim; undefined when it is free. */
  find(claim: IdempotencyClaim): Promise<Replay | undefined>;
  /** Deletes claims made before `before`, and then the oldest of scopes that have more than a fair share of `most`. */
  prune(before: string, most?: number): Promise<number>;
}

/** A commit that takes longer is a slow disk's. */
export const SLOW_COMMIT_MS = 1000;

export interface CommitSpeed {
  /** How long the newest commit took, or the one under way has taken so far. */
  commit_ms: number;
}

export interface Store {
  instance: Instance;
  sandboxes: SandboxStore;
  templates: TemplateStore;
  quotas: QuotaStore;
  warm: PrewarmedStore;
  events: EventStore;
  pool: PoolStore;
  workers: WorkerStore;
  leases: LeaseStore;
  idempotency: IdempotencyStore;
  audit: AuditStore;
  clock: ClockStore;
  /** A cheap read that fails when the database does; after a write that failed or was slow, a write. */
  ping(): Promise<CommitSpeed>;
  /** What is known of it beyond that. Takes no time to speak of. */
  condition(): StoreCondition;
  /** Idempotent. */
  close(): Promise<void>;
}
