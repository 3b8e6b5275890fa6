// THE PROVIDER SEAM: starts, finds and ends runtimes. Knows nothing of HTTP, quotas, owners or the database.
// Always used through guard.ts, the only translator of errors and keeper of deadlines.
import type { SandboxIo } from '../agent/io.ts';
import type { Lease } from '../schema/lease.ts';
import type { Capability, Isolation, ProviderKind } from '../schema/provider.ts';

/** What a sandbox is to a provider. Without `runtime_id` it is found by its label (the reply to create was lost). */
export interface RuntimeRef {
  runtime_id?: string | undefined;
  id: string;
  epoch: number;
  /** The right of another worker to run it, where it is one. */
  lease?: Lease | undefined;
}

export interface RuntimeSpec {
  id: string;
  epoch: number;
  /** The image asked for, or undefined for the provider's own default. */
  image: string | undefined;
  memory_mb: number;
  vcpus: number;
  network: 'default' | 'none';
  /** Stored in the runtime's label, ISO 8601. */
  expires_at: string;
  /** Whom it is made for, where that is known: what one may have a provider do at once is bounded. Nobody else learns it. */
  account?: string;
  /**
   * The VM of a pool, only where `hostsPools`. Its agent is uid 0 inside with exactly CAP_CHOWN, CAP_SETUID and
   * CAP_SETGID; uids 20000 to 59999 exist inside; `/workspaces` is writable to uid 0 alone (0711), and nothing else to
   * anybody, `/tmp` and `/dev/shm` included; at most 4096 processes.
   */
  role?: 'pool';
  /** The right of another worker to run it, where it is one. */
  lease?: Lease;
  /** To be refused, before anything is made, where what would run differs from this (domain/differences.ts). */
  strict?: boolean;
}

export interface Created {
  runtime_id: string;
  /** What really runs. */
  image: string;
  memory_mb: number;
  vcpus: number;
  /** Every difference between what was asked and what runs, one sentence each. */
  warnings: string[];
}

export type RuntimeState = 'running' | 'stopped' | 'gone';

export interface RuntimeListing {
  runtime_id: string;
  id: string;
  epoch: number;
  state: 'running' | 'stopped';
  /** ISO 8601, of the runtime itself: reconcile spares young ones. */
  created_at: string;
}

/** The provider's own news of one of our runtimes: its first process ended, or somebody removed it. */
export interface RuntimeEvent {
  runtime_id: string;
  id: string;
  epoch: number;
  what: 'ended' | 'removed';
}

/** What a provider keeps to start runtimes of one image and shape faster. */
export interface RuntimeSnapshot {
  image: string;
  /** Version of the guest kernel. */
  kernel: string;
  /** Size on disk in bytes. */
  size: number;
  /** ISO 8601 */
  created_at: string;
}

export interface ProbeReport {
  healthy: boolean;
  /** Why not, or what is worth knowing; a sentence with the remedy. */
  message?: string;
  findings: { name: string; ok: boolean; message: string }[];
}

export interface Provider {
  readonly kind: ProviderKind;
  /** What its operator calls it, where that is not its kind. */
  readonly label?: string;
  readonly capabilities: readonly Capability[];
  /** False: its sandboxes never reach a network. Absent where that is not known. */
  readonly hasNetwork?: boolean;
  /** It can make the VMs of a pool. */
  readonly hostsPools?: boolean;
  /** A service outside gives its runtimes their ids: one may come twice. */
  readonly namesAreGiven?: boolean;
  /** What really separates a sandbox here, and which image names a spawn may give; `*` is any. */
  describe(): { isolation: Isolation; images: string[] };
  /** Absent where names are not judged. Throws `bad_request` for an image that a spawn may never have. */
  refuseImage?(reference: string): void;
  /** Reports, never throws; settles when `signal` aborts. */
  probe(signal: AbortSignal): Promise<ProbeReport>;
  /**
   * Labelled before it can fail half-way; a failed or aborted create leaves nothing unlabelled. Settles within 1 s of the
   * abort. Rejects with NotStarted (domain/not-started.ts) only where it is certain that nothing was asked for: the row then
   * ends without this provider being asked again.
   */
  create(spec: RuntimeSpec, signal: AbortSignal): Promise<Created>;
  /** `gone` is an answer, not an error. */
  inspect(ref: RuntimeRef, signal: AbortSignal): Promise<RuntimeState>;
  /** Idempotent; gone is success. Resolves only when the runtime is confirmed gone. */
  destroy(ref: RuntimeRef, signal: AbortSignal): Promise<void>;
  /** Opens what works inside the sandbox. `unavailable` when the runtime is not running or does not answer. */
  attach(ref: RuntimeRef, signal: AbortSignal): Promise<SandboxIo>;
  /** All runtimes that carry our instance label, dead ones as `stopped`. */
  list(signal: AbortSignal): Promise<RuntimeListing[]>;
  /**
   * Absent where nothing tells. Calls `heard` for each event of a runtime with our instance label, ours or not of our
   * doing. Resolves when `signal` aborts; rejects when the source is lost (the caller opens it again and reconciles,
   * since events in between are gone).
   */
  watch?(heard: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void>;
  /** Absent where runtimes are never restored. */
  snapshots?(signal: AbortSignal): Promise<RuntimeSnapshot[]>;
  /** Runtimes live on. Safe to call twice. */
  close(): Promise<void>;
}

/** Another worker, as it is called. */
export interface RemoteWorker {
  id: string;
  rpc_url: string;
  /** Shared with it: signs what it is told. */
  secret: string;
}

/** Workers that run sandboxes for us. */
export interface RemoteProviders {
  /** A provider of theirs as one of ours, guarded. It has no attach: nothing inside is reached through a worker. */
  of(worker: RemoteWorker, kind: string): Provider;
  /** Has the worker renew `lease` now, and tells it what is left of the life of its sandbox. */
  renew(worker: RemoteWorker, lease: Lease, sandboxTtl: string, signal: AbortSignal): Promise<void>;
  /** True if the worker does not get new sandboxes. */
  shutdown(worker: RemoteWorker, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The enabled providers, guarded, in order of preference. */
export interface ProviderSet {
  readonly all: readonly Provider[];
  /** Throws `not_found`, naming those there are, for any other name. */
  get(name: string): Provider;
  /** Closes each; runtimes live on. */
  close(): Promise<void>;
}
