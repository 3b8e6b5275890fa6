// Requests of programs that name a port of a sandbox in a header: no name has to be resolved, and no page can send one. The
// caller proves its key as for any call, and reaches only its own sandboxes.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../domain/errors.ts';
import { PORT_HEADER, readPortHeader } from '../../domain/preview.ts';
import { withFreshKeys } from '../authenticate.ts';
import { type Access, authorize } from '../caller.ts';
import type { Cors } from '../headers/cors.ts';
import type { PreviewGateway } from './gateway.ts';

/** As a route on a sandbox that any key with the scope `use` may call, for its owner. */
const ROUTE = { auth: 'api', owned: true, scope: 'use' } as const;

export const namesPort = ({ headers }: { headers: FastifyRequest['headers'] }): boolean =>
  headers[PORT_HEADER] !== undefined;

interface PortDeps {
  access: Access;
  origins: Cors;
  previews: PreviewGateway;
}

/** Answers the request past the router. Calls `refused` with what `authorize` throws, and `bad_request` for a malformed header. */
export function servePort(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PortDeps,
  refused: (error: Error) => void,
): void {
  withFreshKeys(request.raw.headers, deps.access, () => {
    try {
      serve(request, reply, deps);
    } catch (error) {
      refused(error as Error);
    }
  });
}

function serve(request: FastifyRequest, reply: FastifyReply, deps: PortDeps): void {
  const { raw, id: requestId, address } = request;
  const { headers, socket: connection } = raw;
  deps.origins.checkUpgrade(headers);
  const identified = (identity: FastifyRequest['identity']) => {
    request.identity = identity;
  };
  const presented = { headers, connection, address, reply, requestId, identified };
  request.authorized = authorize(ROUTE, presented, deps.access);
  const target = readPortHeader(String(headers[PORT_HEADER]));
  if (!target)
    throw new ServiceError('bad_request', `The header ${PORT_HEADER} does not name a port of a sandbox.`, {
      remedy: 'Write it as <port>-<sandbox-id>.',
    });
  reply.hijack();
  void deps.previews.serveCaller(target, request.authorized.caller, request, reply);
}
