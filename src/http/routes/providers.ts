// Providers (docs/design/api.md#providers). Twice: the plain routes, and below /admin where the admin key is always
// needed. Paths on the host are shown to callers who may use admin routes, but not to tenants who all hold the one key.
import { Type } from 'typebox';
import { ProviderDetail, ProviderItem, ProviderTests } from '../../schema/provider.ts';
import type { Call } from '../call.ts';
import { defineRoute, type Route } from '../route.ts';
import { NOTHING_SAID, ProviderParams } from './params.ts';

/** The differences between the two routes. */
interface RouteGroup {
  ids: { list: 'listProviders' | 'adminListProviders'; get: 'getProvider' | 'adminGetProvider' };
  tag: 'providers' | 'admin';
  auth: 'api' | 'admin';
}

const seesHost = ({
  administers,
  caller,
}: Pick<Call<never, never, never>, 'administers' | 'caller'>): boolean =>
  administers && caller.role !== 'api';

const views = ({ ids, tag, auth }: RouteGroup) => [
  defineRoute({
    id: ids.list,
    tag,
    auth,
    summary: 'List providers with their health',
    success: { status: 200, description: 'All enabled providers.', schema: Type.Array(ProviderItem) },
    errors: [],
    handler: (call, { providers }) => providers.list(auth === 'admin' || seesHost(call)),
  }),
  defineRoute({
    id: ids.get,
    tag,
    auth,
    summary: 'Get a provider',
    params: ProviderParams,
    success: {
      status: 200,
      description: 'The provider with its health, isolation, images and configuration.',
      schema: ProviderDetail,
    },
    errors: ['not_found'],
    handler: (call, { providers }) => providers.get(call.params.name, auth === 'admin' || seesHost(call)),
  }),
];

export const providerRoutes: Route[] = views({
  ids: { list: 'listProviders', get: 'getProvider' },
  tag: 'providers',
  auth: 'api',
});

export const adminProviderRoutes: Route[] = [
  ...views({ ids: { list: 'adminListProviders', get: 'adminGetProvider' }, tag: 'admin', auth: 'admin' }),
  defineRoute({
    id: 'testProviders',
    tag: 'admin',
    auth: 'admin',
    summary: 'Check all providers now',
    description: 'Each provider has 3 s to respond. Provider lists show the results for the next 5 s.',
    body: NOTHING_SAID,
    bodyOptional: true,
    success: { status: 200, description: 'The results by provider name.', schema: ProviderTests },
    errors: [],
    example: {},
    handler: (_call, { providers }) => providers.test(),
  }),
];
