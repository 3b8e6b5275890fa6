// Hands an answer over: what is small to the framework, what is large in pieces past it.
import type { FastifyReply } from 'fastify';
import type { TSchema } from 'typebox';
import type { Clock, Logger } from '../domain/ports.ts';
import { Answer, PiecedAnswer, StreamAnswer, TextAnswer } from './answer.ts';
import { signedBy } from './half-closed.ts';
import { cachedJson } from './json-cache.ts';
import { bytePieces, holdsOutput, listPieces, PIECE, textPieces, withOutputs } from './pieces.ts';
import type { Route } from './route.ts';
import { dropIfStalled, writePieces } from './write-pieces.ts';

interface SendDeps {
  clock: Clock;
  logger: Logger;
}

const JSON_UTF8 = 'application/json; charset=utf-8';

/**
 * What the framework's serializer is made of, for an answer of this status: of lists their entries, which are written one by one.
 */
export function serializedAs({ success, alternative }: Route, status: number): TSchema | undefined {
  if (status === alternative?.status) return alternative.schema;
  if (status !== success.status) return undefined;
  return (success.schema as { items?: TSchema } | undefined)?.items ?? success.schema;
}

/** Compiles the schema for the first answer that needs it: an idle server holds none of them. */
function writerOf(reply: FastifyReply, route: Route): (value: unknown) => string {
  if (route.exact) return (value) => cachedJson(value as object);
  const schema = serializedAs(route, reply.statusCode);
  const write = schema ? reply.compileSerializationSchema(schema as never) : JSON.stringify;
  return write as (value: unknown) => string;
}

export function send(reply: FastifyReply, route: Route, result: unknown, deps: SendDeps): FastifyReply {
  if (result instanceof StreamAnswer) {
    result.stream.once('error', (err) =>
      deps.logger.warn(
        { request_id: reply.request.id, err },
        'Response stream failed; closing the connection.',
      ),
    );
    if (result.sign !== undefined) signedBy(reply.raw, result.sign);
    return reply.code(result.status).headers(result.headers).send(result.stream);
  }
  reply.code(route.success.status);
  if (result instanceof TextAnswer)
    return sendText(reply.headers(result.headers).type(result.type), result.text, deps);
  if (result instanceof PiecedAnswer) return sendPieces(reply.type(JSON_UTF8), result.pieces, deps);
  if (!(result instanceof Answer)) return sendJson(reply, route, result, deps);
  if (result.status !== undefined) reply.code(result.status);
  return sendJson(reply.headers(result.headers), route, result.body, deps);
}

function sendJson(reply: FastifyReply, route: Route, body: unknown, deps: SendDeps): FastifyReply {
  reply.type(JSON_UTF8);
  const write = writerOf(reply, route);
  if (Array.isArray(body)) return sendPieces(reply, listPieces(body, write), deps);
  return sendText(reply, write(body), deps);
}

/** An object whose outputs, at the top or one level below, are written from their bytes. Most have none. */
export function sendObject(reply: FastifyReply, value: object, deps: SendDeps): FastifyReply {
  if (holdsOutput(value) || Object.values(value).some(holdsOutput))
    return sendPieces(reply, withOutputs(value), deps);
  return sendText(reply, JSON.stringify(value), deps);
}

function sendText(reply: FastifyReply, text: string | Buffer, deps: SendDeps): FastifyReply {
  if (text.length <= PIECE) return sendAtOnce(reply, text, deps);
  reply.header('Content-Length', Buffer.byteLength(text));
  return sendPieces(reply, typeof text === 'string' ? textPieces(text) : bytePieces(text), deps);
}

/** One piece goes as it is. */
export function sendPieces(reply: FastifyReply, pieces: Iterable<Buffer>, deps: SendDeps): FastifyReply {
  const left = pieces[Symbol.iterator]();
  const begin: Buffer[] = [];
  for (let next = left.next(); !next.done; next = left.next()) {
    if (begin.push(next.value) < 2) continue;
    reply.hijack();
    writeHead(reply);
    const { pass } = reply.request;
    void writePieces(reply.raw, rest(begin, left), { ...deps, pass }).catch((err: unknown) => {
      deps.logger.error(
        { request_id: reply.request.id, err },
        'Writing a response failed; closing the connection.',
      );
      reply.raw.destroy();
    });
    return reply;
  }
  return sendAtOnce(reply, begin[0] ?? '', deps);
}

function* rest(begin: readonly Buffer[], left: Iterator<Buffer>): Generator<Buffer> {
  yield* begin;
  yield* { [Symbol.iterator]: () => left };
}

function sendAtOnce(reply: FastifyReply, payload: string | Buffer, { clock }: SendDeps): FastifyReply {
  reply.send(payload);
  dropIfStalled(reply.raw, clock);
  return reply;
}

/** Headers come as the pipeline set them. */
export function writeHead(reply: FastifyReply, more: Record<string, string> = {}): void {
  const headers = { ...(reply.getHeaders() as Record<string, string>), ...more };
  reply.raw.writeHead(reply.statusCode, headers);
}
