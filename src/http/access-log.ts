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
  const fields = {
    request_id: request.id,
    method: raw.method,
    route: preview === undefined ? (route?.path ?? 'none') : 'preview',
    ...(typeof preview === 'object' && preview),
    ...(route?.owned && { sandbox_id: (request.params as { id?: string }).id }),
    status: response.statusCode,
    ms: Math.round(ms * 1000) / 1000,
    remote_address: request.address,
    ...(!response.writableFinished && response.statusCode !== 101 && { aborted: true }),
  };
  if (route?.quiet) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}
