// What is known of the database beyond the answer of the last call.
import type { ServiceError } from '../../domain/errors.ts';

export interface StoreCondition {
  /** Damage that a call or a check has met. It stays until the next start: only another file ends it. */
  damage?: ServiceError;
  /** Acknowledged writes are missing since an unclean stop. It stays until an operator accepts it, over restarts too. */
  loss?: ServiceError;
  /** All pages are being read. */
  isChecking: boolean;
}
