// Liveness, readiness, health and the API description (docs/design/api.md#health-and-metrics). None of them needs a
// key; without one the first three show status words only.
import { Health, Live, NotReady, Ready } from '../../schema/system.ts';
import { Answer, TextAnswer } from '../answer.ts';
import { defineRoute, type Route } from '../route.ts';

const tag = 'system';

export const systemRoutes: Route[] = [
  defineRoute({
    id: 'live',
    tag,
    auth: 'optional',
    summary: 'Check liveness',
    success: { status: 200, description: 'The process is alive.', schema: Live },
    errors: [],
    quiet: true,
    handler: ({ full }, { health }) => health.live(full),
  }),
  defineRoute({
    id: 'ready',
    tag,
    auth: 'optional',
    summary: 'Check readiness to spawn sandboxes',
    success: {
      status: 200,
      description: 'A provider is healthy and the database is not known to be damaged.',
      schema: Ready,
    },
    errors: [],
    alternative: {
      status: 503,
      description: 'No sandbox can be started anywhere, or the database is damaged or does not answer.',
      schema: NotReady,
    },
    quiet: true,
    handler: async ({ full, caller }, { health }) => {
      const { reason, ...ready } = await health.ready(full);
      if (ready.status === 'ready') return ready;
      const refusal = {
        code: 'unavailable',
        message: reason,
        request_id: caller.request_id,
      };
      return new Answer({ ...ready, ...refusal }, { status: 503 });
    },
  }),
  defineRoute({
    id: 'health',
    tag,
    auth: 'optional',
    summary: 'Get the health of the service',
    success: { status: 200, description: 'The health of the service and its parts.', schema: Health },
    errors: [],
    quiet: true,
    handler: ({ full }, { health }) => health.health(full),
  }),
  defineRoute({
    id: 'openapiJson',
    tag,
    auth: 'none',
    summary: 'Get the API description as JSON',
    success: {
      status: 200,
      description: 'The OpenAPI 3.1 document.',
      other: { 'application/json': {} },
    },
    errors: [],
    handler: ({ server }) => new TextAnswer(server.openapi.json(), 'application/json; charset=utf-8'),
  }),
  defineRoute({
    id: 'openapiYaml',
    tag,
    auth: 'none',
    summary: 'Get the API description as YAML',
    success: {
      status: 200,
      description: 'The OpenAPI 3.1 document.',
      other: { 'application/yaml': {} },
    },
    errors: [],
    handler: ({ server }) => new TextAnswer(server.openapi.yaml(), 'application/yaml; charset=utf-8'),
  }),
];
