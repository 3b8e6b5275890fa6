// Named keys, for administrators (docs/keys.md).
import { Type } from 'typebox';
import { Key, KeyCreate, KeyListQuery, KeyRotate, KeyWithSecret } from '../../schema/key.ts';
import { Answer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';
import { KeyParams } from './params.ts';

const tag = 'admin';
const auth = 'admin';
/** The response holds a secret. */
const NO_STORE = { 'Cache-Control': 'no-store' };

export const keyRoutes: Route[] = [
  defineRoute({
    id: 'createKey',
    tag,
    auth,
    summary: 'Create a named key',
    description:
      'The response holds the key in secret; it cannot be shown again. The call has no Idempotency-Key: a repeat is a conflict, because the name is in use. If the response was lost, revoke the key or rotate it.',
    body: KeyCreate,
    success: { status: 201, description: 'The key.', schema: KeyWithSecret },
    errors: ['conflict', 'resource_limit', 'unavailable'],
    example: { name: 'ci', owner_id: 'ann', scopes: ['use'], ttl: '2160h' },
    handler: async ({ body, caller }, { keys }) =>
      new Answer(await keys.create(body, caller), { headers: NO_STORE }),
  }),
  defineRoute({
    id: 'listKeys',
    tag,
    auth,
    summary: 'List named keys, newest first',
    description: 'Includes keys that expired or were revoked in the last 30 days.',
    query: KeyListQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(Key),
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors: [],
    handler: async ({ query }, { keys }) => {
      const page = await keys.list(query);
      const headers: Record<string, string> = {};
      if (page.next_cursor !== undefined) headers['X-Next-Cursor'] = page.next_cursor;
      return new Answer(page.keys, { headers });
    },
  }),
  defineRoute({
    id: 'getKey',
    tag,
    auth,
    summary: 'Get a named key',
    params: KeyParams,
    success: { status: 200, description: 'The key.', schema: Key },
    errors: ['not_found'],
    handler: ({ params }, { keys }) => keys.get(params.key),
  }),
  defineRoute({
    id: 'rotateKey',
    tag,
    auth,
    summary: 'Replace the text of a named key',
    description:
      'The response holds the new key in secret; it cannot be shown again. The previous key stays valid for the overlap. While a rotation is open, another one is a conflict unless overlap is 0s or replace is true.',
    params: KeyParams,
    body: KeyRotate,
    bodyOptional: true,
    success: { status: 200, description: 'The key.', schema: KeyWithSecret },
    errors: ['not_found', 'conflict', 'unavailable'],
    example: { overlap: '24h' },
    handler: async ({ params, body }, { keys }) =>
      new Answer(await keys.rotate(params.key, body), { headers: NO_STORE }),
  }),
  defineRoute({
    id: 'revokeKey',
    tag,
    auth,
    summary: 'Revoke a named key',
    description:
      'The key ends within 2 s, also on connections that are open. Streams and terminals that it opened are closed. The key stays listed for 30 days.',
    params: KeyParams,
    success: { status: 200, description: 'The revoked key.', schema: Key },
    errors: ['not_found', 'unavailable'],
    handler: ({ params, caller }, { keys }) => keys.revoke(params.key, caller),
  }),
];
