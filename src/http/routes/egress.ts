// Egress policies: checks and groups (docs/network.md).
import { Type } from 'typebox';
import {
  EgressCheck,
  EgressCheckRequest,
  EgressGroup,
  EgressLogLine,
  EgressLogQuery,
  EgressPolicy,
  EgressStatus,
  EgressSuggestion,
} from '../../schema/egress.ts';
import { defineRoute, type Route } from '../route.ts';
import { ndjson } from '../stream.ts';
import { SandboxParams } from './params.ts';

const tag = 'sandboxes';
const auth = 'api';
/** A sandbox without a policy is a `conflict`. */
const SANDBOX_ERRORS = ['not_found', 'conflict', 'unavailable'] as const;

export const egressRoutes: Route[] = [
  defineRoute({
    id: 'checkEgress',
    tag,
    auth,
    scope: 'read',
    summary: 'Check whether an egress policy allows a connection',
    description:
      'Applies the policy of a sandbox, or the rules of the server and of the policy in the request. Opens no connection, and looks up only names that the rules allow.',
    body: EgressCheckRequest,
    success: { status: 200, description: 'The decision.', schema: EgressCheck },
    errors: ['not_found', 'conflict', 'not_implemented', 'unavailable'],
    example: { egress: { allow: ['@packages', 'api.example.com'] }, host: 'api.example.com', port: 443 },
    handler: ({ body, caller }, { egress }) => egress.check(body, caller),
  }),
  defineRoute({
    id: 'egressGroups',
    tag,
    auth,
    summary: 'List the groups of egress rules',
    description: 'Policies name a group instead of its rules, for example @packages.',
    success: { status: 200, description: 'The groups.', schema: Type.Array(EgressGroup) },
    errors: [],
    handler: (_, { egress }) => egress.groups(),
  }),
  defineRoute({
    id: 'getEgress',
    tag,
    auth,
    summary: 'Get the egress policy of a sandbox',
    params: SandboxParams,
    success: { status: 200, description: 'The policy in force, with counters.', schema: EgressStatus },
    errors: SANDBOX_ERRORS,
    handler: ({ params, caller }, { egress }) => egress.get(params.id, caller),
  }),
  defineRoute({
    id: 'putEgress',
    tag,
    auth,
    summary: 'Replace the egress policy of a sandbox',
    description:
      'Replaces the policy of the spawn; the rules of the server, the owner and the template still apply. Connections that are no longer allowed are closed before the response.',
    params: SandboxParams,
    body: EgressPolicy,
    success: { status: 200, description: 'The policy in force.', schema: EgressStatus },
    errors: [...SANDBOX_ERRORS, 'not_implemented'],
    example: { allow: ['api.example.com'] },
    handler: ({ params, body, caller }, { egress }) => egress.replace(params.id, body, caller),
  }),
  defineRoute({
    id: 'egressLog',
    tag,
    auth,
    summary: 'Read the egress decisions of a sandbox',
    description: 'The last 1,000 decisions are kept in memory until the sandbox ends or the server restarts.',
    params: SandboxParams,
    query: EgressLogQuery,
    success: {
      status: 200,
      description: 'The newest decisions, oldest first.',
      schema: Type.Array(EgressLogLine),
      other: { 'application/x-ndjson': { schema: EgressLogLine } },
    },
    errors: SANDBOX_ERRORS,
    handler: async ({ params, query, caller, signal }, { egress }) => {
      if (query.follow) return ndjson(await egress.follow(params.id, query, caller, signal));
      return egress.log(params.id, query, caller);
    },
  }),
  defineRoute({
    id: 'suggestEgress',
    tag,
    auth,
    summary: 'Suggest egress rules from the decisions of a sandbox',
    params: SandboxParams,
    success: { status: 200, description: 'The rules.', schema: EgressSuggestion },
    errors: SANDBOX_ERRORS,
    handler: ({ params, caller }, { egress }) => egress.suggest(params.id, caller),
  }),
];
