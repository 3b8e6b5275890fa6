// What sandboxes are restored from (docs/design/api.md#snapshots).
import { Type } from 'typebox';
import { Snapshot } from '../../schema/snapshot.ts';
import { defineRoute, type Route } from '../route.ts';

export const snapshotRoutes: Route[] = [
  defineRoute({
    id: 'listSnapshots',
    tag: 'providers',
    auth: 'api',
    summary: 'List snapshots',
    description:
      'Providers create and remove snapshots automatically and start sandboxes from them. The list is empty when no provider uses snapshots.',
    success: { status: 200, description: 'The snapshots, newest first.', schema: Type.Array(Snapshot) },
    errors: ['provider_error', 'unavailable'],
    handler: (_, { snapshots }) => snapshots.list(),
  }),
];
