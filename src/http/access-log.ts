// One line a request, written when its response is sent or its connection has closed.

import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { AnsweredRequest } from '../control/api/system.ts';
import type { Logger } from '../domain/ports.ts';

/** Probes at debug, the rest at info. Names the route's pattern, never the path: paths hold file names. */
export function logAccess(
  logger: Logger,
  request: FastifyRequest,
  response: ServerResponse,
  ms: number,
): void {
  const { raw, route, preview, identity, page } = request;
  // Built up in one order: a line is written for each request, and copies of parts cost as much as the rest of it.
  const fields: Record<string, unknown> = {
    request_id: request.id,
    method: raw.method,
    route: preview === undefined ? (route?.path ?? page ?? 'none') : 'preview',
  };
  if (typeof preview === 'object') Object.assign(fields, preview);
  if (route?.owned) fields.sandbox_id = (request.params as { id?: string }).id;
  fields.status = response.statusCode;
  fields.ms = Math.round(ms * 1000) / 1000;
  fields.remote_address = request.address;
  fields.actor = identity?.actor ?? 'none';
  if (!response.writableFinished && response.statusCode !== 101) fields.aborted = true;
  if (route?.quiet || page !== undefined) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}

/** What is counted for a request: the route, never the path. */
export function answeredRequest(
  { route, raw, preview, page }: FastifyRequest,
  response: ServerResponse,
  ms: number,
): AnsweredRequest {
  return {
    route: preview === undefined ? (route?.id ?? page ?? 'none') : 'preview',
    method: raw.method ?? 'none',
    // A client that left before its answer got no status; the head of a switch of protocols is not written by the response.
    status: response.headersSent || response.statusCode === 101 ? String(response.statusCode) : 'none',
    seconds: ms / 1000,
  };
}
