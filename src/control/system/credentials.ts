// Credentials of this server, for administrators (docs/network.md#credentials).
import { ServiceError } from '../../domain/errors.ts';
import { type Credential, MASKED_VALUE } from '../../schema/credential.ts';
import type { CredentialViews } from '../api/credentials.ts';
import type { Credentials, KnownCredential } from '../runtime/credentials.ts';

export function credentialViews(credentials: Credentials): CredentialViews {
  return {
    list: async () => (await credentials.list()).map(view),
    get: async (name) => {
      const known = (await credentials.list()).find((each) => each.name === name);
      if (!known) throw unknownCredential();
      return view(known);
    },
    put: async (name, request) => view(await credentials.put(name, request)),
    remove: async (name) => {
      if (!(await credentials.remove(name))) throw unknownCredential();
    },
  };
}

function view({ name, facts, source, created_at, updated_at, value }: KnownCredential): Credential {
  return { name, ...facts, value: MASKED_VALUE, source, created_at, updated_at, usable: value !== undefined };
}

const unknownCredential = () =>
  new ServiceError('not_found', 'There is no such credential.', {
    remedy: 'List credentials to see the current ones.',
  });
