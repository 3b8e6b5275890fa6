// Providers (api.md part 7).
import { Type } from 'typebox';
import { ProviderDetail, ProviderItem } from '../../schema/provider.ts';
import { defineRoute, type Route } from '../route.ts';
import { ProviderParams } from './params.ts';

export const providerRoutes: Route[] = [
  defineRoute({
    id: 'listProviders',
    tag: 'providers',
    auth: 'api',
    summary: 'List providers with their health',
    success: { status: 200, description: 'All that are enabled.', schema: Type.Array(ProviderItem) },
    errors: [],
    handler: (_call, { providers }) => providers.list(),
  }),
  defineRoute({
    id: 'getProvider',
    tag: 'providers',
    auth: 'api',
    summary: 'Get a provider',
    params: ProviderParams,
    success: {
      status: 200,
      description: 'Health, isolation, images, configuration.',
      schema: ProviderDetail,
    },
    errors: ['not_found'],
    handler: ({ params }, { providers }) => providers.get(params.name),
  }),
];
