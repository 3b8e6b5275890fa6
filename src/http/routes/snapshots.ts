// What sandboxes are restored from (docs/design/api.md#snapshots).
import { Type } from 'typebox';
import { Snapshot } from '../../schema/snapshot.ts';
import { defineRoute, type Route } from '../route.ts';

export const snapshotRoutes: Route[] = [
  defineRoute({
    id: 'listSnapshots',
    tag: 'providers',
    auth: 'api',
    summary: 'List what sandboxes are restored from',
    description: 'Providers make and remove these by themselves; an empty list where none does.',
    success: { status: 200, description: 'The newest first.', schema: Type.Array(Snapshot) },
    errors: ['provider_error', 'unavailable'],
    handler: (_, { snapshots }) => snapshots.list(),
  }),
];
