// THE STORE SEAM: sandboxes that are kept ready. store.ts says what holds for all.
import type { AdmissionLimits } from '../../domain/admission.ts';

/** A sandbox kept ready for a template: nobody's, and no sandbox of the API, until a spawn takes it. */
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
  /** Of its creation, for the answer to the spawn that takes it. */
  warnings: string[];
  created_at: string;
}

export interface PrewarmedStore {
  /** Writes a `starting` row; false when sandboxes and warm ones together have reached a limit. */
  reserve(warm: PrewarmedRecord, limits: AdmissionLimits): Promise<boolean>;
  /** Replaces a `starting` row; false when it is not there. */
  ready(warm: PrewarmedRecord): Promise<boolean>;
  get(id: string): Promise<PrewarmedRecord | undefined>;
  /** Oldest first (created_at, then id). */
  all(): Promise<PrewarmedRecord[]>;
  remove(id: string): Promise<void>;
}
