// Serves the control API of E2B: the same pipeline as for our own calls, then a handler of control-routes.ts.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { accountOf } from '../../domain/byte-ledger.ts';
import { watchPace } from '../body/slow-body.ts';
import { heldFor } from '../call.ts';
import { disconnectSignal } from '../client-disconnect.ts';
import { idempotencyOf } from '../headers/idempotency-key.ts';
import type { RouteId } from '../paths.ts';
import type { Route } from '../route.ts';
import { sendAnswer } from './answers.ts';
import type { ControlRoute } from './control-call.ts';
import { CONTROL_ROUTES } from './control-routes.ts';
import type { FacadeDeps } from './facade-deps.ts';
import { objectOf, readBytes } from './read-body.ts';

export function serveControl(plane: FastifyInstance, deps: FacadeDeps): void {
  for (const route of CONTROL_ROUTES)
    for (const path of route.paths)
      plane.route({
        method: route.method,
        url: path,
        exposeHeadRoute: false,
        config: { isOfControl: true },
        onRequest: deps.pipeline.of(asRoute(route, path)),
        handler: (request, reply) => answer(route, request, reply, deps),
      });
}

/** What the pipeline asks of a route. */
function asRoute({ id, method, scope, audited }: ControlRoute, path: string): Route {
  return {
    id: id as RouteId,
    method,
    path,
    scope,
    audited,
    tag: 'sandboxes',
    auth: 'api',
    owned: true,
    summary: id,
    body: Type.Unknown(),
    bodyOptional: true,
    success: { status: 200, description: '' },
    errors: [],
    handler: () => undefined,
  };
}

async function answer(
  route: ControlRoute,
  request: FastifyRequest,
  reply: FastifyReply,
  { control, config, clock }: FacadeDeps,
): Promise<FastifyReply> {
  const { raw, authorized } = request;
  if (!authorized) throw new Error('the handler ran without the pipeline');
  const { caller } = authorized;
  const hold = heldFor(reply.raw, control.ledger.open(accountOf(caller)));
  watchPace(raw, clock, () => raw.socket.destroy());
  const { server, e2b: settings } = config.current();
  const body = objectOf(await readBytes(raw, server.body_limit, hold));
  const result = await route.handler(
    {
      params: request.params as Record<string, string>,
      query: new URL(raw.url ?? '/', 'http://x').searchParams,
      body,
      settings,
      host: raw.headers.host,
      caller,
      idempotencyKey: idempotencyOf(raw.headers),
      signal: disconnectSignal(reply.raw),
      hold,
    },
    control,
  );
  request.created = result.created;
  return sendAnswer(reply, {
    status: result.status,
    headers: result.headers ?? {},
    body: result.body,
  });
}
