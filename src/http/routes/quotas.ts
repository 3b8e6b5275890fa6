// Owner quotas, twice: as they are, and below /admin where the admin key is always needed. One handler serves both.
import { Type } from 'typebox';
import {
  OwnerListQuery,
  Quota,
  QuotaCheck,
  QuotaDeleted,
  QuotaListQuery,
  QuotaRequest,
  QuotaSummary,
  QuotaUsage,
} from '../../schema/quota.ts';
import { Answer } from '../answer.ts';
import type { RouteAuth } from '../caller.ts';
import { defineRoute, type Route } from '../route.ts';
import { QuotaParams } from './params.ts';

const tag = 'quotas';

/** The differences between the two routes. */
interface RouteGroup {
  ids: {
    list: 'listQuotas' | 'adminListQuotas';
    summary: 'quotaSummary' | 'adminQuotaSummary';
    get: 'getQuota' | 'adminGetQuota';
    put: 'putQuota' | 'adminPutQuota';
    delete: 'deleteQuota' | 'adminDeleteQuota';
    usage: 'quotaUsage' | 'adminQuotaUsage';
  };
  read: RouteAuth;
  write: RouteAuth;
}

const listRoute = ({ ids, read: auth }: RouteGroup) =>
  defineRoute({
    id: ids.list,
    tag,
    auth,
    summary: 'List owner quotas, newest first',
    query: QuotaListQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(Quota),
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors: [],
    handler: async ({ query, caller }, { quotas }) => {
      const page = await quotas.list(query, caller);
      const headers = page.next_cursor === undefined ? {} : { 'X-Next-Cursor': page.next_cursor };
      return new Answer(page.quotas, { headers });
    },
  });

const summaryRoute = ({ ids, read: auth }: RouteGroup) =>
  defineRoute({
    id: ids.summary,
    tag,
    auth,
    summary: 'Count owner quotas without naming owners',
    success: { status: 200, description: 'The number of quotas that set each limit.', schema: QuotaSummary },
    errors: [],
    handler: (_call, { quotas }) => quotas.summary(),
  });

const readRoutes = ({ ids, read: auth }: RouteGroup) => [
  defineRoute({
    id: ids.get,
    tag,
    auth,
    summary: 'Get the quota of an owner',
    params: QuotaParams,
    success: { status: 200, description: 'The quota.', schema: Quota },
    errors: ['not_found'],
    handler: ({ params, caller }, { quotas }) => quotas.get(params.owner_id, caller),
  }),
  defineRoute({
    id: ids.usage,
    tag,
    auth,
    summary: 'Get the usage and the effective limits of an owner',
    params: QuotaParams,
    success: {
      status: 200,
      description: 'The usage and the limits, also for an owner without a quota.',
      schema: QuotaUsage,
    },
    errors: ['not_found'],
    handler: ({ params, caller }, { quotas }) => quotas.usage(params.owner_id, caller),
  }),
];

const writeRoutes = ({ ids, write: auth }: RouteGroup) => [
  defineRoute({
    id: ids.put,
    tag,
    auth,
    summary: 'Set the quota of an owner',
    description: 'Replaces the quota. Omitted values, 0 and 0s inherit the defaults.',
    params: QuotaParams,
    body: QuotaRequest,
    success: { status: 200, description: 'The quota.', schema: Quota },
    errors: ['not_found', 'resource_limit'],
    example: { max_sandboxes: 5, max_ttl: '2h', max_exec_timeout: '5m' },
    handler: ({ params, body, caller }, { quotas }) => quotas.put(params.owner_id, body, caller),
  }),
  defineRoute({
    id: ids.delete,
    tag,
    auth,
    summary: 'Delete the quota of an owner',
    description: 'The defaults apply to the owner again.',
    params: QuotaParams,
    success: { status: 200, description: 'The quota was deleted.', schema: QuotaDeleted },
    errors: ['not_found'],
    handler: async ({ params, caller }, { quotas }) => {
      await quotas.delete(params.owner_id, caller);
      return { status: 'deleted' as const };
    },
  }),
];

const GROUPS: readonly RouteGroup[] = [
  {
    ids: {
      list: 'listQuotas',
      summary: 'quotaSummary',
      get: 'getQuota',
      put: 'putQuota',
      delete: 'deleteQuota',
      usage: 'quotaUsage',
    },
    read: 'api',
    write: 'quota_write',
  },
  {
    ids: {
      list: 'adminListQuotas',
      summary: 'adminQuotaSummary',
      get: 'adminGetQuota',
      put: 'adminPutQuota',
      delete: 'adminDeleteQuota',
      usage: 'adminQuotaUsage',
    },
    read: 'admin',
    write: 'admin',
  },
];

const checkRoute = defineRoute({
  id: 'checkQuota',
  tag,
  auth: 'api',
  scope: 'read',
  summary: 'Ask what a quota would change, without setting it',
  description: 'Takes what setting the quota takes. Running sandboxes would continue to run in any case.',
  params: QuotaParams,
  body: QuotaRequest,
  success: {
    status: 200,
    description: 'The limits before and after, and what is above them.',
    schema: QuotaCheck,
  },
  errors: ['not_found'],
  example: { max_sandboxes: 5, max_ttl: '2h' },
  handler: ({ params, body, caller }, { quotas }) => quotas.check(params.owner_id, body, caller),
});

const ownersRoute = defineRoute({
  id: 'listOwners',
  tag: 'admin',
  auth: 'admin',
  summary: 'List owners by name, with what they run and their limits',
  description:
    'Everybody who has a sandbox, a quota, or use in the ledger. With q a page may hold fewer owners than its limit, or none, and still name a next page.',
  query: OwnerListQuery,
  success: {
    status: 200,
    description: 'One page of results.',
    schema: Type.Array(QuotaUsage),
    headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
  },
  errors: [],
  handler: async ({ query }, { quotas }) => {
    const { owners, next_cursor } = await quotas.owners(query);
    return new Answer(owners, { headers: next_cursor === undefined ? {} : { 'X-Next-Cursor': next_cursor } });
  },
});

export const quotaRoutes: Route[] = GROUPS.flatMap((group) => [
  listRoute(group),
  summaryRoute(group),
  ...readRoutes(group),
  ...writeRoutes(group),
]).concat(checkRoute, ownersRoute);
