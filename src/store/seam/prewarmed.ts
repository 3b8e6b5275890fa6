// THE STORE SEAM: prewarmed sandboxes. store.ts has the rules for all tables.
import type { AdmissionLimits } from '../../domain/admission.ts';

/** A prewarmed sandbox of a template. It has no owner and is invisible to the API until a spawn takes it. */
export interface PrewarmedRecord {
  id: string;
  epoch: number;
  state: 'starting' | 'ready';
  /** `domain/template-key.ts` */
  template: string;
  /** `domain/prewarm-shape.ts` */
  shape: string;
  provider: string;
  image: string;
  memory_mb: number;
  vcpus: number;
  network: 'default' | 'none';
  runtime_id?: string;
  /** Warnings of its creation, for the response to the spawn that takes it. */
  warnings: string[];
  created_at: string;
  /** Where it runs; a `starting` one is placed by `reserve`. */
  worker_id: string;
}

export interface PrewarmedStore {
  /**
   * Writes a `starting` row and returns it. Undefined if sandboxes and prewarmed ones together have reached a limit. With
   * `limits.placement` a worker with capacity for both is chosen, and a remote one gets a lease of the row.
   */
  reserve(warm: PrewarmedRecord, limits: AdmissionLimits): Promise<PrewarmedRecord | undefined>;
  /** Replaces a `starting` row; false if there is none. */
  ready(warm: PrewarmedRecord): Promise<boolean>;
  get(id: string): Promise<PrewarmedRecord | undefined>;
  /** Oldest first (created_at, then id). */
  all(): Promise<PrewarmedRecord[]>;
  /** Removes the row with its lease; leaves the lease of one that has become a sandbox. */
  remove(id: string): Promise<void>;
}
