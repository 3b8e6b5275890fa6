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
  success: {
    status: 200,
    description: 'The worker. `drain` tells it whether to stop taking sandboxes.',
    schema: Worker,
  },
  example: { status: 'online', providers: ['userspace'], capacity: { max_sandboxes: 20 } },
} as const;

/** The differences between the two routes. */
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
    success: {
      status: 200,
      description: 'All workers. The worker local is this server.',
      schema: Type.Array(Worker),
    },
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
    summary: 'Remove a worker',
    description:
      'Refuses to remove local and workers that hold sandboxes. The worker reappears with its next heartbeat.',
    params: WorkerParams,
    success: { status: 200, description: 'The worker was removed.', schema: WorkerDeleted },
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
    summary: 'Drain a worker',
    description:
      'The worker gets no new sandboxes; its running sandboxes continue. Draining lasts until {"drain": false}, whatever the worker reports.',
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
    summary: "Overwrite a worker's status",
    description: "Use this to repair a worker's record. Omitted fields keep their values.",
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
    summary: 'Send a heartbeat',
    description:
      'Omitted fields keep their values. Unknown fields are ignored. A server without authentication and without a worker credential accepts from its own machine the secret that the worker made itself, and answers 409 to another secret for the same worker.',
    ...heartbeat,
    errors: ['unauthorized', 'conflict', 'resource_limit', 'unavailable'],
    quiet: true,
    handler: ({ params, body, worker }, { workers }) => workers.heartbeat(params.worker_id, body, worker),
  }),
  defineRoute({
    id: 'renewLease',
    tag,
    auth: 'worker',
    summary: 'Renew the lease of a sandbox',
    description: 'After a conflict, the worker must end the sandbox.',
    params: LeaseParams,
    body: RenewRequest,
    bodyOptional: true,
    success: { status: 200, description: 'The lease with its next generation.', schema: RenewReply },
    errors: ['unauthorized', 'conflict', 'resource_limit', 'unavailable'],
    example: { ttl: '90s' },
    quiet: true,
    handler: ({ params, body, worker }, { workers }) => {
      if (!worker) throw new Error('a worker route ran without a worker identity');
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
