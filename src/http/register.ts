// Turns a route into Fastify's: schemas, hooks, handler.
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import type { ControlPlane } from '../control/api/control-plane.ts';
import { accountOf } from '../domain/byte-ledger.ts';
import { ServiceError } from '../domain/errors.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import type { Clock, Logger } from '../domain/ports.ts';

import { Answer, PushAnswer, SocketAnswer, StreamAnswer } from './answer.ts';

import { isArchiveKind, JSON_TYPE } from './body/body.ts';
import { limitsOf } from './body/limits.ts';
import { hasCome } from './body/pieces.ts';
import { watchPace } from './body/slow-body.ts';
import { Call, heldFor, type ServerFacts } from './call.ts';
import { endOfTurn } from './end-of-turn.ts';
import { signedBy } from './half-closed.ts';
import type { HttpConfig } from './http-config.ts';
import type { InFlight } from './in-flight.ts';
import { hasHead, reservedFailure, routerPath } from './methods.ts';
import { endWith, type OpenStreams } from './open-streams.ts';
import type { Pipeline } from './pipeline.ts';
import { answerAndClose } from './raw-answer.ts';
import type { Route } from './route.ts';
import { ROUTES } from './routes/routes.ts';
import { send, writeHead } from './send.ts';
import type { Upgrades } from './socket/upgrades.ts';
import { bodyValidator, NO_QUERY, paramsValidator, queryValidator } from './validation.ts';

export interface RegisterDeps {
  control: ControlPlane;
  config: LiveConfig<Pick<HttpConfig, 'server' | 'images'>>;
  clock: Clock;
  logger: Logger;
  pipeline: Pipeline;
  inFlight: InFlight;
  facts: ServerFacts;
  upgrades: Upgrades;
  openStreams: OpenStreams;
}

export function registerRoute(app: FastifyInstance, route: Route, deps: RegisterDeps): void {
  app.route({
    method: route.method,
    url: routerPath(route.path),
    bodyLimit: limitsOf(route, deps.config.current())(JSON_TYPE),
    exposeHeadRoute: hasHead(route),
    schema: {
      querystring: route.query ?? NO_QUERY,
      ...(route.params && { params: route.params }),
      ...(route.body && { body: route.body }),
    },
    validatorCompiler: ({ schema, httpPart }) => validatorOf(route, schema as TSchema, httpPart),
    onRequest: hooksOf(route, deps),
    ...(route.body && { preParsing: bodyHook(route, deps) }),
    handler: handlerOf(route, deps),
  });
}

function hooksOf(route: Route, { pipeline }: RegisterDeps): onRequestHookHandler[] {
  const reserved = reservedFailure(route, ROUTES);
  if (!reserved) return [pipeline.of(route)];
  // As for a path that takes no such method at all: before anybody is asked who they are.
  return [({ params }, _reply, done) => done(reserved(params)), pipeline.of(route)];
}

function validatorOf(route: Route, schema: TSchema, part: string | undefined) {
  if (part === 'body' && isArchiveKind(route)) return (value: unknown) => ({ value });
  if (part === 'body') return bodyValidator(schema, route.bodyOptional === true);
  return part === 'querystring' ? queryValidator(schema) : paramsValidator(schema);
}

/** A body is read at a pace, and what is kept of it is on the caller's account until the answer is out. */
function bodyHook(route: Route, { control, clock }: RegisterDeps) {
  const hasFile = route.bodyKind === 'json_file' || route.bodyKind === 'raw_file';
  const validate = hasFile && bodyValidator(route.body as TSchema, false);
  const fault = validate ? (body: unknown) => faultIn(validate(body)) : undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { raw, authorized } = request;
    if (authorized)
      request.bodyHold = () => heldFor(reply.raw, control.ledger.open(accountOf(authorized.caller)));
    request.bodyFault = fault;
    // What came with the head is here then, and most bodies are complete.
    await undefined;
    if (hasCome(raw)) return;
    const late = () => {
      const failure = new ServiceError('timeout', 'The body arrived too slowly.');
      // For the log and the audit: the answer goes past the framework.
      reply.raw.statusCode = failure.status;
      answerAndClose(raw.socket, failure, request.id);
    };
    watchPace(raw, clock, late);
  };
}

const faultIn = (outcome: ReturnType<ReturnType<typeof bodyValidator>>) =>
  'error' in outcome ? outcome.error : undefined;

function handlerOf(route: Route, deps: RegisterDeps) {
  const { control, facts, upgrades, openStreams } = deps;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { params, query, body, content, headers, authorized, scheme } = request;
    if (!authorized) throw new Error('the handler ran without the pipeline');
    // One literal: copying it with one more member cost 4 µs a request.
    const parts = {
      params,
      query,
      body,
      content,
      headers,
      authorized,
      response: reply.raw,
      server: facts,
      scheme,
      ledger: control.ledger,
      about: (target: string) => {
        request.created = target;
      },
    };
    const call = new Call(parts as ConstructorParameters<typeof Call<never, never, never>>[0]);
    const result = await route.handler(call, control);
    if (route.success.status === 201) request.created = nameOf(result);
    const stays = (end: (message: string) => void) => openStreams.add(request, reply.raw, end);
    if (result instanceof SocketAnswer) {
      upgrades.accept(reply, result);
      stays((message) => upgrades.refuse(reply.raw, message));
      return reply;
    }
    if (result instanceof PushAnswer) {
      push(reply, result, deps);
      stays((message) => endWith(reply.raw, result.farewell(message)));
      return undefined;
    }
    if (!(result instanceof StreamAnswer)) await endOfTurn();
    const sent = send(reply, route, result, deps);
    if (result instanceof StreamAnswer && result.farewell) {
      const { stream, farewell } = result;
      stays((message) => {
        stream.unpipe(reply.raw);
        endWith(reply.raw, farewell(message));
      });
    }
    return sent;
  };
}

/** The id or name of what a call has created. */
function nameOf(result: unknown): string | undefined {
  const { id, name } = (result instanceof Answer ? result.body : result) as { id?: unknown; name?: unknown };
  const text = id ?? name;
  return typeof text === 'string' ? text : undefined;
}

/** Past the framework, which would make a stream of its own for each reader. */
function push(reply: FastifyReply, answer: PushAnswer, deps: RegisterDeps): void {
  const response = reply.raw;
  reply.hijack();
  signedBy(response, answer.sign);
  writeHead(reply.code(200), answer.headers);
  deps.inFlight.endless(response);
  const { pass = setImmediate } = reply.request;
  answer.begin(response, { ...deps, pass });
}
