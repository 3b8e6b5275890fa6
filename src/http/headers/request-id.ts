// The id that ties an answer to its log lines: the caller's own when it is harmless, else a fresh one.
import type { IncomingMessage } from 'node:http';
import type { Ids } from '../../domain/ports.ts';

const HARMLESS = /^[A-Za-z0-9._-]{1,128}$/;

/** For Fastify's `genReqId`. */
export function requestIdFrom(ids: Ids): (request: Pick<IncomingMessage, 'headers'>) => string {
  return ({ headers }) => {
    const given = headers['x-request-id'];
    return typeof given === 'string' && HARMLESS.test(given) ? given : ids.uuid();
  };
}
