// One line a request, written when its answer is out or its connection gone.

import type { ServerResponse } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { Logger } from '../domain/ports.ts';

/** Probes at debug, the rest at info. Names the route's pattern, never the path: paths hold file names. */
export function logAccess(
  logger: Logger,
  request: FastifyRequest,
  response: ServerResponse,
  ms: number,
): void {
  const { raw, route, preview } = request;
  // Built up in one order: a line is written for each request, and copies of parts cost as much as the rest of it.
  const fields: Record<string, unknown> = {
    request_id: request.id,
    method: raw.method,
    route: preview === undefined ? (route?.path ?? 'none') : 'preview',
  };
  if (typeof preview === 'object') Object.assign(fields, preview);
  if (route?.owned) fields.sandbox_id = (request.params as { id?: string }).id;
  fields.status = response.statusCode;
  fields.ms = Math.round(ms * 1000) / 1000;
  fields.remote_address = request.address;
  if (!response.writableFinished && response.statusCode !== 101) fields.aborted = true;
  if (route?.quiet) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}
