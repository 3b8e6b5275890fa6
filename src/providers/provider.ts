// THE PROVIDER SEAM: creates, finds and destroys runtimes. Independent of HTTP, quotas, owners and the database.
// Always used through guard.ts, which translates errors and enforces deadlines.
import type { GateOrder } from '../agent/gate-io.ts';
import type { SandboxIo } from '../agent/io.ts';
import type { ImageWish } from '../domain/image-policy.ts';
import type { MachineImages } from '../domain/machine-images.ts';
import type { ImageState } from '../schema/admission.ts';
import type { ImagePolicy } from '../schema/image-policy.ts';
import type { Lease } from '../schema/lease.ts';
import type { Capability, Isolation, ProviderKind } from '../schema/provider.ts';
import type { EgressAnswer, EgressCall } from '../schema/worker-egress.ts';
import type { Reading } from './reading.ts';

/** Identifies a runtime. Without `runtime_id` (the reply to create was lost) it is found by its label. */
export interface RuntimeRef {
  runtime_id?: string | undefined;
  id: string;
  epoch: number;
  /** The lease under which another worker runs it. */
  lease?: Lease | undefined;
}

export interface RuntimeSpec {
  id: string;
  epoch: number;
  /** The requested image, or undefined for the provider's default. */
  image: string | undefined;
  memory_mb: number;
  vcpus: number;
  network: 'default' | 'none';
  /** Make a transparent gate for its outgoing connections; only where `gateRefusal` says that one can be made. */
  gate?: true;
  /** Ports by which its programs connect. A provider that can opens them before any program runs, and says so in `Created`. */
  listens?: GateOrder;
  /** A certificate in PEM that its programs are to trust, as far as this is done before it starts (docs/network.md). */
  trust?: string;
  /** Stored in the runtime's label, ISO 8601. */
  expires_at: string;
  /**
   * When the runtime ends by itself, also without a server: ms of `clock.monotonic()` of this process. Undefined: never.
   * Providers without an agent of ours ignore it.
   */
  deadline?: number | undefined;
  /** The account of the caller, for limits on concurrent work of one account. Not passed on. */
  account?: string | undefined;
  /**
   * A VM of a pool, only with `hostsPools`. Its agent is uid 0 inside with exactly CAP_CHOWN, CAP_SETUID and CAP_SETGID;
   * uids 20000 to 59999 exist inside; `/workspaces` is writable for uid 0 only (0711), and nothing else is writable,
   * `/tmp` and `/dev/shm` included; at most 4096 processes.
   */
  role?: 'pool';
  /** The lease under which another worker runs it. */
  lease?: Lease;
  /** What the start does about a missing image; absent: `optional`. Providers without a store of ours use `present` alone. */
  image_policy?: ImagePolicy | undefined;
  /** Whether it may use the credentials for registries, and images that were pulled with them; absent: not. */
  private_images?: boolean | undefined;
  /** Reject the spawn, before anything is created, if the sandbox would differ from the request (domain/differences.ts). */
  strict?: boolean;
}

/** What of a spec decides about its image. */
export type ImageSpec = Pick<RuntimeSpec, 'image' | 'image_policy' | 'account' | 'private_images'>;

/** Gets images into the store of this process. `isStored` reads the store, and bounds how long that takes. */
export interface ImageSource {
  ready(wish: ImageWish, isStored: () => Promise<boolean>, signal: AbortSignal): Promise<string[]>;
  state(wish: ImageWish, isStored: () => Promise<boolean>): Promise<ImageState>;
}

export interface Created {
  runtime_id: string;
  /** The ports of the order are open: what connects waits for a session. */
  listens?: true;
  /** The image that runs. */
  image: string;
  /** Digest of the image of the store that runs. */
  image_digest?: string;
  memory_mb: number;
  vcpus: number;
  /** One sentence for each difference between the request and the sandbox. */
  warnings: string[];
}

/** What a worker reports of a gate. */
export type EgressNews = Pick<EgressAnswer, 'report' | 'line' | 'event'>;

/** To the gate of one sandbox on its worker (docs/network.md#workers). */
export interface EgressLink {
  /** Rejects with the error of the worker, `unavailable` once the link has ended, `timeout` after 30 s, which ends it. */
  call(ask: Omit<EgressCall, 'id'>): Promise<EgressAnswer>;
  readonly closed: Promise<void>;
  /** Idempotent. */
  close(): void;
}

/** A runtime, and what to report of it that is not a difference. */
export type Started = Created & { notes?: string[] };

export type RuntimeState = 'running' | 'stopped' | 'gone';

export interface RuntimeListing {
  runtime_id: string;
  id: string;
  epoch: number;
  state: 'running' | 'stopped';
  /** ISO 8601, of the runtime itself: reconciliation spares new ones. */
  created_at: string;
}

/** An event of one of our runtimes: its first process ended, or it was removed. */
export interface RuntimeEvent {
  runtime_id: string;
  id: string;
  epoch: number;
  what: 'ended' | 'removed';
}

/** A saved state from which runtimes of one image and shape start faster. */
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
  /** The reason of a failure with its remedy, or a note. */
  message?: string;
  findings: { name: string; ok: boolean; message: string }[];
}

export interface Provider {
  readonly kind: ProviderKind;
  /** The operator's name for the provider, if it differs from the kind. */
  readonly label?: string;
  readonly capabilities: readonly Capability[];
  /** False if its sandboxes never reach a network; absent if unknown. */
  readonly hasNetwork?: boolean;
  /** Whether programs of its sandboxes can reach out through the session, under an egress policy; absent: no. */
  readonly hasEgress?: boolean;
  /**
   * Why no transparent gate can be made for its sandboxes here, as a sentence; undefined: it can. Absent, with `hasEgress`: its
   * kind of sandbox has none. The first call may try one.
   */
  gateRefusal?(signal: AbortSignal): Promise<string | undefined>;
  /** Whether it can create VMs of a pool. */
  readonly hostsPools?: boolean;
  /** Whether an external service assigns runtime ids, which may then repeat. */
  readonly namesAreGiven?: boolean;
  /** The effective isolation of a sandbox, and the image names that a spawn may use; `*` for any. */
  describe(): { isolation: Isolation; images: string[] };
  /** Absent if image names are not checked. Throws `bad_request` for an image that no spawn may use. */
  refuseImage?(reference: string): void;
  /** Absent if it has no images of its own. Names of those that a start needs not download, newest first if it knows. */
  presentImages?(signal: AbortSignal): Promise<string[]>;
  /**
   * Absent if it starts from no image store. Pulls the image if the policy says so, and resolves with what the sandbox should
   * report of that: no differences, so a strict start has them too. Nothing is created. The pull continues after an abort.
   */
  readyImage?(spec: ImageSpec, signal: AbortSignal): Promise<string[]>;
  /**
   * Present with `readyImage`. Whether a start would find its image, could pull it, or would be refused; undefined where it would
   * run on the default root.
   */
  imageState?(spec: ImageSpec, signal: AbortSignal): Promise<ImageState | undefined>;
  /**
   * Absent if it cannot tell. Identifies what a start from this image would run now, so that a sandbox that was started before can
   * stand for a new one; undefined: nothing is there. Never pulls.
   */
  imageId?(spec: ImageSpec, signal: AbortSignal): Promise<string | undefined>;
  /**
   * Only of other workers, which know their images: whether a start of the same image would run what this sandbox runs; undefined
   * where the worker does not tell.
   */
  hasCurrentImage?(ref: RuntimeRef, signal: AbortSignal): Promise<boolean | undefined>;
  /** Never throws; settles when `signal` aborts. */
  probe(signal: AbortSignal): Promise<ProbeReport>;
  /**
   * Labels the runtime before a partial failure is possible: a failed or aborted create leaves nothing unlabelled. Settles
   * within 1 s of the abort. Rejects with NotStarted (domain/not-started.ts) only where it is certain that nothing was asked for: the row then
   * ends without this provider being asked again.
   */
  create(spec: RuntimeSpec, signal: AbortSignal): Promise<Created>;
  /** `gone` is an answer, not an error. */
  inspect(ref: RuntimeRef, signal: AbortSignal): Promise<RuntimeState>;
  /** Idempotent; a missing runtime is success. Resolves only when the runtime is confirmed to have ended. */
  destroy(ref: RuntimeRef, signal: AbortSignal): Promise<void>;
  /** Opens a session with the sandbox. Throws `unavailable` when the runtime is not running or does not answer. */
  attach(ref: RuntimeRef, signal: AbortSignal): Promise<SandboxIo>;
  /**
   * Only of other workers: opens a link to the outgoing connections of a sandbox. `onNews` gets what comes unasked. Rejects as `attach`
   * does, with `not_implemented` where the worker holds no policies.
   */
  openEgress?(ref: RuntimeRef, onNews: (news: EgressNews) => void, signal: AbortSignal): Promise<EgressLink>;
  /** All runtimes with our instance label; ended ones as `stopped`. */
  list(signal: AbortSignal): Promise<RuntimeListing[]>;
  /**
   * Absent if there is no source of events. Calls `onEvent` for each event of a runtime with our instance label, whatever
   * caused it. Resolves when `signal` aborts; rejects when the source is lost (the caller reopens it and reconciles,
   * because events in between are missed).
   */
  watch?(onEvent: (event: RuntimeEvent) => void, signal: AbortSignal): Promise<void>;
  /**
   * Absent if nothing can be measured. What the runtimes use, by the `id` of their refs; those that have ended, or that cannot
   * be measured, are left out. Cheap for local runtimes; yields to the event loop.
   */
  usage?(refs: readonly RuntimeRef[], signal: AbortSignal): Promise<Map<string, Reading>>;
  /** Absent if runtimes are never restored from snapshots. */
  snapshots?(signal: AbortSignal): Promise<RuntimeSnapshot[]>;
  /** Releases resources; runtimes continue to run. Idempotent. */
  close(): Promise<void>;
}

/** The address and credentials of another worker. */
export interface RemoteWorker {
  id: string;
  rpc_url: string;
  /** A shared secret that signs our calls. */
  secret: string;
}

/** Workers that run sandboxes for us. */
export interface RemoteProviders {
  /** A guarded provider of a worker. */
  of(worker: RemoteWorker, kind: string): Provider;
  /** Renews `lease` on the worker and reports the remaining TTL of its sandbox. */
  renew(worker: RemoteWorker, lease: Lease, sandboxTtl: string, signal: AbortSignal): Promise<void>;
  /** True if the worker does not get new sandboxes. */
  shutdown(worker: RemoteWorker, signal: AbortSignal): Promise<void>;
  /** The image store of a worker with the capability `images`. */
  images(worker: RemoteWorker): MachineImages;
  close(): Promise<void>;
}

/** The enabled providers, guarded, in order of preference. */
export interface ProviderSet {
  readonly all: readonly Provider[];
  /** Throws `not_found` with the enabled names for any other name. */
  get(name: string): Provider;
  /** Closes all providers; runtimes continue to run. */
  close(): Promise<void>;
}
