// Credentials that the server adds to requests of sandboxes, for administrators (docs/network.md).
import { Type } from 'typebox';
import { CREDENTIAL_NAME, Credential, CredentialDeleted, CredentialPut } from '../../schema/credential.ts';
import { defineRoute, type Route } from '../route.ts';

const tag = 'admin';
const auth = 'admin';
const CredentialParams = Type.Object({
  name: Type.String({ pattern: CREDENTIAL_NAME, description: 'Name of the credential.' }),
});

export const credentialRoutes: Route[] = [
  defineRoute({
    id: 'listCredentials',
    tag,
    auth,
    summary: 'List egress credentials',
    success: { status: 200, description: 'The credentials, by name.', schema: Type.Array(Credential) },
    errors: ['unavailable'],
    handler: (_, { credentials }) => credentials.list(),
  }),
  defineRoute({
    id: 'getCredential',
    tag,
    auth,
    summary: 'Get an egress credential',
    params: CredentialParams,
    success: { status: 200, description: 'The credential, without its value.', schema: Credential },
    errors: ['not_found', 'unavailable'],
    handler: ({ params }, { credentials }) => credentials.get(params.name),
  }),
  defineRoute({
    id: 'putCredential',
    tag,
    auth,
    summary: 'Set an egress credential',
    description:
      'The server sets its header on requests of sandboxes to its hosts. The value is stored sealed and cannot be read back. Without owners nobody may use it.',
    params: CredentialParams,
    body: CredentialPut,
    success: { status: 200, description: 'The credential, without its value.', schema: Credential },
    errors: ['conflict', 'resource_limit', 'not_implemented', 'unavailable'],
    example: { hosts: ['api.example.com'], format: 'Bearer {value}', owners: ['ann'], value: 'secret' },
    handler: ({ params, body }, { credentials }) => credentials.put(params.name, body),
  }),
  defineRoute({
    id: 'deleteCredential',
    tag,
    auth,
    summary: 'Remove an egress credential',
    params: CredentialParams,
    success: { status: 200, description: 'No request gets it any more.', schema: CredentialDeleted },
    errors: ['not_found', 'conflict', 'unavailable'],
    handler: async ({ params }, { credentials }) => {
      await credentials.remove(params.name);
      return { status: 'deleted' as const };
    },
  }),
];
