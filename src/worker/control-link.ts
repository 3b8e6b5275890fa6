// Calls the control plane: heartbeats and lease renewals (docs/design/api.md#workers).
import { ServiceError } from '../domain/errors.ts';
import type { Outgoing } from '../providers/outgoing/outgoing.ts';
import { ERROR_CODES, type ErrorCode } from '../schema/error.ts';
import { validator } from '../schema/validator.ts';
import type { HeartbeatBody } from '../schema/worker.ts';
import { RpcRenewResult } from '../schema/worker-rpc.ts';

export interface ControlLink {
  /** Rejects with the control plane's ServiceError, or with `unavailable` if it does not respond. */
  heartbeat(body: HeartbeatBody, signal: AbortSignal): Promise<HeartbeatAnswer>;
  /** Rejects like `heartbeat`. `conflict` and `not_found` mean that the lease ended or belongs to another worker. */
  renew(what: Renewal, signal: AbortSignal): Promise<RpcRenewResult>;
}

/** The fields of the worker object that a worker reads. */
export interface HeartbeatAnswer {
  id?: unknown;
  status?: unknown;
  drain?: boolean | undefined;
}

export interface Renewal {
  worker_id: string;
  resource_id: string;
  /** The requested lease duration. */
  ttl: string;
}

interface LinkDeps {
  /** Sends to the control plane's address, without `/api/v1`. */
  outgoing: Pick<Outgoing, 'request'>;
  id: string;
  /** A token that holds now. */
  token(): string;
}

const renewFault = validator(RpcRenewResult, 'The answer');

export function controlLink({ outgoing, id, token }: LinkDeps): ControlLink {
  const post = async (path: string, json: unknown, signal: AbortSignal): Promise<unknown> => {
    const headers = { 'x-worker-id': id, 'x-worker-token': token() };
    const at = `/api/v1/worker/${encodeURIComponent(id)}${path}`;
    const reply = await outgoing.request({ method: 'POST', path: at, headers, json, signal });
    if (reply.status !== 200) throw refusal(reply.status, await reply.json().catch(() => undefined));
    return reply.json();
  };
  return {
    heartbeat: async (body, signal) => {
      const answer = (await post('/heartbeat', body, signal)) as Record<string, unknown> | null;
      const { id: known, status, drain } = answer ?? {};
      return { id: known, status, drain: typeof drain === 'boolean' ? drain : undefined };
    },
    renew: async ({ resource_id, ttl }, signal) => {
      const answer = await post(`/leases/${encodeURIComponent(resource_id)}/renew`, { ttl }, signal);
      const fault = renewFault(answer);
      if (fault) throw new ServiceError('unavailable', 'The control plane returned an invalid response.');
      return answer as RpcRenewResult;
    },
  };
}

/** A 404 in another format means that this is not a control plane, not that the lease is unknown. */
function refusal(status: number, body: unknown): ServiceError {
  const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const known = ERROR_CODES.find((each) => each === code) as ErrorCode | undefined;
  if (known === undefined || typeof message !== 'string')
    return new ServiceError('unavailable', `The control plane answered with status ${status}.`, {
      remedy: 'Check that worker.control_plane_url is the address of svc.',
    });
  return new ServiceError(known, message.slice(0, 1024), { status });
}
