// Whose sandbox a request of the data plane is for, and whether it may use it.
import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { SignedFile } from '../../domain/data-token.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock } from '../../domain/ports.ts';
import type { HttpConfig } from '../http-config.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Origin } from '../rate-limit.ts';
import { ownTarget } from './sandbox-ports.ts';

/** A request for a sandbox that does not run, in words of its own (answers.ts). */
export class SandboxGone extends Error {
  readonly sandbox_id: string;

  constructor(sandbox_id: string) {
    super('The sandbox was not found');
    this.sandbox_id = sandbox_id;
  }
}

export interface DataGate {
  control: Pick<ControlPlane, 'dataAccess'>;
  pipeline: Pick<Pipeline, 'guesses'>;
  clock: Pick<Clock, 'now'>;
  config: Pick<LiveConfig<HttpConfig>, 'current'>;
}

/** What admits to a route: the token, the token or a signed link, the token for ports too, or nothing, not even a sandbox. */
export type DataAuth = 'token' | 'file' | 'port' | 'open';

const NEEDED = 'unauthorized access, please provide a valid access token or method signing if supported';

/**
 * The sandbox, for one who may use it; empty where none is named and none is needed. Throws SandboxGone, `unauthorized` without a token that is good, `bad_request` for a request
 * that names no sandbox, `resource_limit` after too many wrong links of the address.
 */
export async function admit(
  gate: DataGate,
  auth: DataAuth,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string> {
  const { dataAccess } = gate.control;
  const { headers } = request.raw;
  const token = headerOf(headers, 'x-access-token');
  const link = auth === 'file' ? linkOf(request) : undefined;
  const origin = { connection: request.raw.socket, address: request.address, reply };
  const traffic = auth === 'port' ? headerOf(headers, 'e2b-traffic-access-token') : undefined;
  const named =
    ownTarget(headers, gate.config.current().server.preview_domain)?.sandbox_id ??
    headerOf(headers, 'e2b-sandbox-id') ??
    (token === undefined ? undefined : dataAccess.sandboxOf('access', token)) ??
    (traffic === undefined ? undefined : dataAccess.sandboxOf('traffic', traffic)) ??
    (link && (await findSigned(gate, link, origin)));
  if (named === undefined && auth === 'open') return '';
  if (named === undefined) throw token === undefined ? unnamed() : unauthorized(NEEDED);
  if (!(await dataAccess.isUsable(named))) throw new SandboxGone(named);
  if (auth === 'open') return named;
  if (traffic !== undefined && dataAccess.sandboxOf('traffic', traffic) === named) return named;
  if (token !== undefined) return checkToken(gate, token, named, auth);
  if (!link) throw unauthorized(auth === 'file' ? 'missing signature query parameter' : NEEDED);
  return checkLink(gate, link, named);
}

function checkToken({ control }: DataGate, token: string, named: string, auth: DataAuth): string {
  if (control.dataAccess.sandboxOf('access', token) === named) return named;
  throw unauthorized(auth === 'file' ? 'access token present in header but does not match' : NEEDED);
}

interface Link {
  file: SignedFile;
  signature: string;
}

function linkOf({ raw }: FastifyRequest): Link | undefined {
  const query = new URL(raw.url ?? '/', 'http://x').searchParams;
  const signature = query.get('signature');
  if (signature === null || signature === '') return undefined;
  const file = {
    path: query.get('path') ?? '',
    operation: raw.method === 'GET' ? ('read' as const) : ('write' as const),
    user: query.get('username') ?? '',
    expiration: query.get('signature_expiration') ?? undefined,
  };
  return { file, signature };
}

function checkLink({ control, clock }: DataGate, { file, signature }: Link, named: string): string {
  if (!control.dataAccess.isSigned(named, file, signature)) throw unauthorized('invalid signature');
  const { expiration } = file;
  if (expiration !== undefined && !(Number(expiration) * 1000 >= clock.now()))
    throw unauthorized('signature is already expired');
  return named;
}

/** A link that no sandbox has signed counts as a try of its address. */
async function findSigned(
  { control, pipeline }: DataGate,
  { file, signature }: Link,
  origin: Origin,
): Promise<string> {
  const refusal = pipeline.guesses.blocked(origin);
  if (refusal) throw refusal;
  const found = await control.dataAccess.findSigned(file, signature);
  if (found !== undefined) return found;
  pipeline.guesses.failed(origin);
  throw unauthorized('invalid signature');
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const unauthorized = (message: string) => new ServiceError('unauthorized', message);

function unnamed(): ServiceError {
  return new ServiceError('bad_request', 'The request names no sandbox.', {
    remedy: 'Send the header E2b-Sandbox-Id, or X-Access-Token.',
  });
}
