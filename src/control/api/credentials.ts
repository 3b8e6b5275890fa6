// Credentials that the server adds to requests of sandboxes. Values go in and never come out.
import type { Credential, CredentialPut } from '../../schema/credential.ts';

export interface CredentialViews {
  /** Lists all of them, sorted by name. */
  list(): Promise<Credential[]>;
  /** Throws `not_found`. */
  get(name: string): Promise<Credential>;
  /**
   * Adds or replaces one; running sandboxes use the new value from their next request on. Throws `bad_request`,
   * `resource_limit` for too many, `not_implemented` and `unavailable` where values cannot be sealed.
   */
  put(name: string, request: CredentialPut): Promise<Credential>;
  /** No request gets it afterwards. Throws `not_found`. */
  remove(name: string): Promise<void>;
}
