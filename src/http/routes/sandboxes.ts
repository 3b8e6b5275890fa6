// Sandboxes: spawn and its dry run, list, get, extend, destroy, prune (docs/design/api.md#sandboxes).
import { Type } from 'typebox';
import { AdmissionDecision } from '../../schema/admission.ts';
import {
  DestroyResult,
  ExtendRequest,
  PruneResult,
  Sandbox,
  SandboxListQuery,
  SpawnRequest,
} from '../../schema/sandbox.ts';
import { Answer } from '../answer.ts';
import { idempotencyOf } from '../headers/idempotency-key.ts';
import { defineRoute, type Route } from '../route.ts';
import { IDEMPOTENCY, NOTHING_SAID, SandboxParams, SPAWN_ERRORS } from './params.ts';

const tag = 'sandboxes';
const auth = 'api';

export const sandboxRoutes: Route[] = [
  defineRoute({
    id: 'spawnSandbox',
    tag,
    auth,
    summary: 'Spawn a sandbox',
    description:
      'The response comes when the sandbox is running. All fields are optional. The X-User-ID header takes precedence over owner_id.',
    body: SpawnRequest,
    bodyOptional: true,
    headers: IDEMPOTENCY,
    success: { status: 201, description: 'The running sandbox.', schema: Sandbox },
    errors: SPAWN_ERRORS,
    example: { ttl: '30m', memory_mb: 256, metadata: { purpose: 'ci' } },
    handler: ({ body, caller, headers, disconnect }, { sandboxes }) =>
      sandboxes.spawn(body, caller, idempotencyOf(headers), disconnect),
  }),
  defineRoute({
    id: 'admitSandbox',
    tag,
    auth,
    scope: 'read',
    summary: 'Check whether a spawn would be admitted',
    description: 'Makes the same decision as a spawn but creates nothing.',
    body: SpawnRequest,
    bodyOptional: true,
    success: { status: 200, description: 'The decision.', schema: AdmissionDecision },
    errors: ['not_found', 'precondition_failed', 'not_implemented'],
    example: { ttl: '30m', owner_id: 'ann' },
    handler: ({ body, caller }, { sandboxes }) => sandboxes.admission(body, caller),
  }),
  defineRoute({
    id: 'listSandboxes',
    tag,
    auth,
    summary: 'List sandboxes, newest first',
    description:
      'Lists ended sandboxes only with include_ended=true or with a state. Filter by label with metadata.<key>=<value>.',
    query: SandboxListQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(Sandbox),
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    exact: true,
    errors: [],
    handler: async ({ query, caller }, { sandboxes }) => {
      const page = await sandboxes.list(query, caller);
      return new Answer(
        page.sandboxes,
        page.next_cursor === undefined ? {} : { headers: { 'X-Next-Cursor': page.next_cursor } },
      );
    },
  }),
  defineRoute({
    id: 'getSandbox',
    tag,
    auth,
    summary: 'Get a sandbox',
    params: SandboxParams,
    success: { status: 200, description: 'The sandbox.', schema: Sandbox },
    exact: true,
    errors: ['not_found'],
    handler: ({ params, caller }, { sandboxes }) => sandboxes.get(params.id, caller),
  }),
  defineRoute({
    id: 'destroySandbox',
    tag,
    auth,
    summary: 'Destroy a sandbox',
    description:
      'The response comes when the sandbox has ended. Also succeeds when the sandbox had ended before or never existed.',
    params: SandboxParams,
    success: { status: 200, description: 'The sandbox has ended.', schema: DestroyResult },
    errors: ['provider_error', 'unavailable'],
    handler: async ({ params, caller }, { sandboxes }) => {
      const was_there = await sandboxes.destroy(params.id, caller);
      return { status: 'destroyed' as const, was_there };
    },
  }),
  defineRoute({
    id: 'extendSandbox',
    tag,
    auth,
    summary: 'Extend the lifetime of a sandbox',
    description:
      'Sets expires_at to the later of its current value and now + ttl; with exact, to now + ttl in any case. The sandbox itself confirms its new end before the answer: without that the answer is 503 and nothing changed.',
    params: SandboxParams,
    body: ExtendRequest,
    success: { status: 200, description: 'The sandbox.', schema: Sandbox },
    errors: ['not_found', 'conflict', 'resource_limit', 'unavailable'],
    example: { ttl: '1h' },
    handler: ({ params, body, caller }, { sandboxes }) => sandboxes.extend(params.id, body, caller),
  }),
  ...(['pruneSandboxes', 'deleteExpiredSandboxes'] as const).map((id) =>
    defineRoute({
      id,
      tag,
      auth,
      summary: 'Destroy expired sandboxes now',
      ...(id === 'pruneSandboxes' && { body: NOTHING_SAID, bodyOptional: true, example: {} }),
      success: { status: 200, description: 'The number of destroyed sandboxes.', schema: PruneResult },
      errors: [],
      handler: async ({ caller }, { sandboxes }) => ({ pruned: await sandboxes.prune(caller) }),
    }),
  ),
];
