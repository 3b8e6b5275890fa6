// Who calls the control plane.
import type { Role } from '../../domain/access.ts';

export interface Caller {
  role: Role;
  /** The validated X-User-ID. */
  owner?: string;
  /** A hash that stands for the credential: the scope of idempotency keys without an owner. */
  credential: string;
  request_id: string;
}
