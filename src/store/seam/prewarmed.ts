// THE STORE SEAM: prewarmed sandboxes. store.ts has the rules for all tables.
import type { AdmissionLimits } from '../../domain/admission.ts';

/** A prewarmed sandbox of a template. It has no owner and is invisible to the API until a spawn takes it. */
export interface PrewarmedRecord {
  id: string;
  epoch: number;
  /** `ending`: nobody may take it any more. Only replicas that share a store write it. */
  state: 'starting' | 'ready' | 'ending';
  /** `domain/template-key.ts` */
  template: string;
  /** `domain/prewarm-shape.ts` */
  shape: string;
  provider: string;
  image: string;
  /** Digest of the image of the store that runs. */
  image_digest?: string;
  memory_mb: number;
  vcpus: number;
  network: 'default' | 'none';
  runtime_id?: string;
  /** Warnings of its creation, for the response to the spawn that takes it. */
  warnings: string[];
  created_at: string;
  /** Where it runs; a `starting` one is placed by `reserve`. */
  worker_id: string;
  /**
   * The replica that starts it, takes it for a spawn, or ends it; absent at rest, and where one process has the store for
   * itself.
   */
  replica_id?: string;
}

/** Which ready one a replica takes. */
export interface PrewarmedWish {
  shape: string;
  /** The replica that takes it. */
  replica_id: string;
  /** Only on this worker. */
  worker_id?: string | undefined;
  /** Not on these workers. */
  except?: readonly string[] | undefined;
}

export interface PrewarmedStore {
  /**
   * Writes a `starting` row and returns it. Undefined if sandboxes and prewarmed ones together have reached a limit. With
   * `limits.placement` a worker with capacity for both is chosen, and a remote one gets a lease of the row. With `most`
   * also undefined if so many rows of its shape are not `ending`.
   */
  reserve(
    warm: PrewarmedRecord,
    limits: AdmissionLimits,
    most?: number,
  ): Promise<PrewarmedRecord | undefined>;
  /** Replaces a `starting` row of the same replica, and is then at rest; false if there is none. */
  ready(warm: PrewarmedRecord): Promise<boolean>;
  /**
   * Claims for a replica the oldest `ready` row of the shape at rest, of this server first; undefined if there is none. No
   * other replica takes it until `putBack`. After an unknown outcome a row may be claimed that nobody uses.
   */
  take(wish: PrewarmedWish): Promise<PrewarmedRecord | undefined>;
  /** Puts a `ready` row at rest again, if `replica_id` has claimed it. Idempotent. */
  putBack(id: string, replica_id: string): Promise<void>;
  /**
   * Makes a row `ending` for `replica_id`, if its replica is still `was` (undefined: it is at rest). False, with nothing
   * written, if not; true again for a repeat.
   */
  end(id: string, was: string | undefined, replica_id: string): Promise<boolean>;
  get(id: string): Promise<PrewarmedRecord | undefined>;
  /** Oldest first (created_at, then id). */
  all(): Promise<PrewarmedRecord[]>;
  /** Removes the row with its lease; leaves the lease of one that has become a sandbox. */
  remove(id: string): Promise<void>;
}
