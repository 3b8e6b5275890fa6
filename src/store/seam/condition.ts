// What is known about the database beyond the result of the last call.
import type { ServiceError } from '../../domain/errors.ts';

export interface StoreCondition {
  /** Damage that a call or a check found. It stays until the next start: only another file removes it. */
  damage?: ServiceError;
  /**
   * Acknowledged writes have been missing since an unclean shutdown. It stays until an operator accepts it, also across
   * restarts.
   */
  loss?: ServiceError;
  /** True while all pages are read. */
  isChecking: boolean;
}
