// Workers: read by clients, managed below /admin, and what workers themselves call (docs/design/api.md#workers).
import { Type } from 'typebox';
import {
  DrainRequest,
  HeartbeatBody,
  RenewReply,
  RenewRequest,
  Worker,
  WorkerDeleted,
  WorkerId,
} from '../../schema/worker.ts';
import { defineRoute, type Route } from '../route.ts';

const tag = 'workers';
const WorkerParams = Type.Object({
  worker_id: Type.String({ minLength: 1, maxLength: 128, description: 'Worker id.' }),
});
/** Makes a record: the name must be one. */
const NewWorkerParams = Type.Object({ worker_id: WorkerId });
const LeaseParams = Type.Object({
  worker_id: Type.String({ minLength: 1, maxLength: 128, description: 'Worker id.' }),
  resource_id: Type.String({ minLength: 1, maxLength: 128, description: 'Sandbox id.' }),
});
const heartbeat = {
  params: NewWorkerParams,
  body: HeartbeatBody,
  success: { status: 200, description: 'The worker; `drain` is what is wanted of it.', schema: Worker },
  example: { status: 'online', providers: ['userspace'], capacity: { max_sandboxes: 20 } },
} as const;

/** What differs between the two places. */
interface RouteGroup {
  ids: { list: 'listWorkers' | 'adminListWorkers'; get: 'getWorker' | 'adminGetWorker' };
  auth: 'api' | 'admin';
}

const readRoutes = ({ ids, auth }: RouteGroup) => [
  defineRoute({
    id: ids.list,
    tag,
    auth,
    summary: 'List workers by id',
    success: { status: 200, description: 'All of them; local is this server.', schema: Type.Array(Worker) },
    errors: [],
    handler: (_call, { workers }) => workers.list(),
  }),
  defineRoute({
    id: ids.get,
    tag,
    auth,
    summary: 'Get a worker',
    params: WorkerParams,
    success: { status: 200, description: 'The worker.', schema: Worker },
    errors: ['not_found'],
    handler: ({ params }, { workers }) => workers.get(params.worker_id),
  }),
];

const adminRoutes = [
  defineRoute({
    id: 'removeWorker',
    tag,
    auth: 'admin',
    summary: 'Forget a worker',
    description: 'Not local, and not while it holds sandboxes. It is back with its next heartbeat.',
    params: WorkerParams,
    success: { status: 200, description: 'It is gone.', schema: WorkerDeleted },
    errors: ['not_found', 'conflict'],
    handler: async ({ params }, { workers }) => {
      await workers.remove(params.worker_id);
      return { status: 'deleted' as const };
    },
  }),
  defineRoute({
    id: 'drainWorker',
    tag,
    auth: 'admin',
    summary: 'Keep new sandboxes away from a worker',
    description: 'Those it has live on. Holds until {"drain": false}, whatever the worker says.',
    params: WorkerParams,
    body: DrainRequest,
    bodyOptional: true,
    success: { status: 200, description: 'The worker.', schema: Worker },
    errors: ['not_found'],
    example: { drain: true },
    handler: ({ params, body }, { workers }) => workers.drain(params.worker_id, body.drain ?? true),
  }),
  defineRoute({
    id: 'repairWorker',
    tag,
    auth: 'admin',
    summary: 'Write what a heartbeat would',
    description: 'For repair: what is left out stays as it was.',
    ...heartbeat,
    errors: ['conflict', 'resource_limit'],
    handler: ({ params, body }, { workers }) => workers.heartbeat(params.worker_id, body),
  }),
];

const ownRoutes = [
  defineRoute({
    id: 'workerHeartbeat',
    tag,
    auth: 'worker',
    summary: 'A worker tells of itself',
    description: 'What is left out stays as it was; fields that are not known are ignored.',
    ...heartbeat,
    errors: ['unauthorized', 'conflict', 'resource_limit', 'unavailable'],
    quiet: true,
    handler: ({ params, body, worker }, { workers }) => workers.heartbeat(params.worker_id, body, worker),
  }),
  defineRoute({
    id: 'renewLease',
    tag,
    auth: 'worker',
    summary: 'A worker renews the lease of a sandbox',
    description: 'A conflict means that the worker has to end the sandbox.',
    params: LeaseParams,
    body: RenewRequest,
    bodyOptional: true,
    success: { status: 200, description: 'The next generation.', schema: RenewReply },
    errors: ['unauthorized', 'conflict', 'resource_limit', 'unavailable'],
    example: { ttl: '90s' },
    quiet: true,
    handler: ({ params, body, worker }, { workers }) => {
      if (!worker) throw new Error('a route of workers was reached without one');
      return workers.renew(worker, params.resource_id, body.ttl);
    },
  }),
];

export const workerRoutes: Route[] = [
  ...readRoutes({ ids: { list: 'listWorkers', get: 'getWorker' }, auth: 'api' }),
  ...readRoutes({ ids: { list: 'adminListWorkers', get: 'adminGetWorker' }, auth: 'admin' }),
  ...adminRoutes,
  ...ownRoutes,
];
