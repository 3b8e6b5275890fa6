// Who calls the control plane.
import type { Role } from '../../domain/access.ts';

export interface Caller {
  role: Role;
  /** The owner of the key, else the validated X-User-ID. */
  owner?: string;
  /** The key belongs to `owner`: the caller sees its records only, whether or not owners are enforced. */
  bound?: boolean;
  /**
   * Who acts, for the audit, events and rows: `admin:X-Admin-API-Key` and `api:X-API-Key` for the configured keys,
   * `key:<name>` for a named key, `worker:<id>`, `anonymous` without a key, and `system:<part>` for the service itself.
   * Never a secret.
   */
  actor: string;
  /** A hash that stands for the credential: the scope of idempotency keys without an owner. */
  credential: string;
  request_id: string;
}
