// How full the pool is (docs/design/api.md#pool).
import { PoolStatus } from '../../schema/pool.ts';
import { defineRoute, type Route } from '../route.ts';

export const poolRoutes: Route[] = [
  defineRoute({
    id: 'poolStatus',
    tag: 'pool',
    auth: 'api',
    summary: 'How full the pool of shared VMs is',
    success: { status: 200, description: 'Its numbers, or that there is none.', schema: PoolStatus },
    errors: [],
    handler: (_, { pool }) => pool.status(),
  }),
];
