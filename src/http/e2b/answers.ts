// Failures as the SDKs of E2B read them (docs/e2b.md): `code` is the HTTP status as a number. Their clients repeat 429 and 502 to
// 504 by themselves, a create included, so an answer says whether that can help.
import type { FastifyReply } from 'fastify';
import { ServiceError } from '../../domain/errors.ts';
import { errorAnswer } from '../errors.ts';

export interface FacadeAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** The failure of a call of the control plane. */
export function controlFailure(failure: ServiceError, request_id: string): FacadeAnswer {
  const { headers, body } = errorAnswer(failure, request_id);
  const status = statusOf(failure);
  const isUndone = failure.details?.nothing_done === true;
  const isFinal = (status >= 500 || status === 429) && !isUndone;
  const kept = isUndone ? headers : without(headers, 'Retry-After');
  return {
    status,
    headers: { ...kept, ...(isFinal && { 'Should-Retry': 'false' }) },
    body: { code: status, message: body.message },
  };
}

/** The failure of a call of the data plane over plain HTTP. Nothing but code and message: clients compare. */
export function dataFailure(failure: ServiceError, request_id: string): FacadeAnswer {
  const { headers, body } = errorAnswer(failure, request_id);
  const status = statusOf(failure);
  return { status, headers, body: { code: status, message: body.message } };
}

/** A gateway that finds no sandbox: these words choose the exception of the SDKs. */
export function sandboxGone(sandboxId: string): FacadeAnswer {
  return { status: 502, headers: {}, body: { sandboxId, message: 'The sandbox was not found', code: 502 } };
}

/** 408 and 412 mean other things to their clients. */
function statusOf({ status }: ServiceError): number {
  if (status === 408) return 504;
  return status === 412 ? 409 : status;
}

function without(headers: Record<string, string>, name: string): Record<string, string> {
  const { [name]: _, ...rest } = headers;
  return rest;
}

/** A feature of E2B that this service does not have. */
export function notOffered(what: string, remedy = 'See docs/e2b.md for what is offered.'): ServiceError {
  return new ServiceError('not_implemented', `${what} is not supported by this server.`, { remedy });
}

/** A wish that cannot be met; `message` says which one. */
export function badWish(message: string, remedy?: string): ServiceError {
  return new ServiceError('bad_request', message, remedy === undefined ? {} : { remedy });
}

export function sendAnswer(reply: FastifyReply, { status, headers, body }: FacadeAnswer): FastifyReply {
  reply.code(status).headers(headers);
  if (body === undefined) return reply.send();
  return reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(body)));
}
