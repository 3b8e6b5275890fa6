// How full the pool is (docs/design/api.md#pool).
import { PoolStatus } from '../../schema/pool.ts';
import { defineRoute, type Route } from '../route.ts';

export const poolRoutes: Route[] = [
  defineRoute({
    id: 'poolStatus',
    tag: 'pool',
    auth: 'api',
    summary: 'Get the usage of the pool of shared VMs',
    success: { status: 200, description: 'Pool usage, or `enabled: false`.', schema: PoolStatus },
    errors: [],
    handler: (_, { pool }) => pool.status(),
  }),
];
