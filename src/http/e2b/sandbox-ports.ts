// Which port of which sandbox a request of a program for E2B is for, by its name or by its headers (docs/e2b.md). Two ports are
// answered by the service itself; the others lead to what listens there.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type PreviewTarget, readPortHeader, readPreviewName } from '../../domain/preview.ts';
import type { PreviewGateway } from '../previews/gateway.ts';

/** Their agent, and their code interpreter. */
export const OWN_PORTS: readonly number[] = [49_983, 49_999];

/** The sandbox and the port that the name of a request gives, if it is one that the service answers. */
export function ownTarget({ host }: IncomingHttpHeaders, domain: string): PreviewTarget | undefined {
  const target = readPreviewName(host, domain);
  return typeof target === 'object' && OWN_PORTS.includes(target.port) ? target : undefined;
}

/** The port of a sandbox that headers name, if it is one that leads to a program. */
export function portTarget({ headers }: Pick<IncomingMessage, 'headers'>): PreviewTarget | undefined {
  const [id, port] = [headers['e2b-sandbox-id'], headers['e2b-sandbox-port']];
  if (typeof id !== 'string' || typeof port !== 'string') return undefined;
  const target = readPortHeader(`${port}-${id}`);
  return target && !OWN_PORTS.includes(target.port) ? target : undefined;
}

/** Whether the request has a token of this sandbox that opens its ports. */
export function opensPorts(
  { sandboxOf }: ControlPlane['dataAccess'],
  { headers }: Pick<IncomingMessage, 'headers'>,
  sandbox_id: string,
): boolean {
  const opens = (kind: 'access' | 'traffic', token: unknown) =>
    typeof token === 'string' && sandboxOf(kind, token) === sandbox_id;
  return opens('traffic', headers['e2b-traffic-access-token']) || opens('access', headers['x-access-token']);
}

export interface PortDeps {
  control: Pick<ControlPlane, 'dataAccess'>;
  previews: PreviewGateway;
}

/** Answers a request whose headers name a port; false for all others. Throws `unauthorized` without a token of the sandbox. */
export function servePortOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { control: { dataAccess }, previews }: PortDeps,
): boolean {
  const { raw, id } = request;
  const target = portTarget(raw);
  if (!target) return false;
  if (!opensPorts(dataAccess, raw, target.sandbox_id))
    throw new ServiceError('unauthorized', 'Ports of a sandbox that headers name need its traffic token.', {
      remedy: 'Send the header e2b-traffic-access-token.',
    });
  reply.hijack();
  void previews.serveCaller(target, dataAccess.holderOf(target.sandbox_id, id), request, reply);
  return true;
}
