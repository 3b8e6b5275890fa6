// Credentials that the server adds to requests of sandboxes. Needs an admin key. Values are never read back.
import type { Credential, CredentialPut } from '../schema/credential.ts';
import type { CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';

export class CredentialsClient extends ClientPart {
  /** Lists all of them, sorted by name. */
  list(terms: CallTerms = {}): Promise<Credential[]> {
    return this.call('listCredentials', { ...terms });
  }

  get(name: string, terms: CallTerms = {}): Promise<Credential> {
    return this.call('getCredential', { params: { name }, ...terms });
  }

  /** Adds or replaces one. */
  set(name: string, request: CredentialPut, terms: CallTerms = {}): Promise<Credential> {
    return this.call('putCredential', { params: { name }, json: request, ...terms });
  }

  async remove(name: string, terms: CallTerms = {}): Promise<void> {
    await this.call('deleteCredential', { params: { name }, ...terms });
  }
}
