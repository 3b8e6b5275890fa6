// One call to a worker: `POST /rpc` with a fresh token and a validated reply. A worker's message goes to the log only; the
// client gets our own message for its code.
import { type ErrorFacts, ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
import { printable } from '../../domain/printable.ts';
import { freshToken } from '../../domain/worker-token.ts';
import type { ErrorCode } from '../../schema/error.ts';
import type { Lease } from '../../schema/lease.ts';
import { type Validator, validator } from '../../schema/validator.ts';
import { RpcAnswer, type RpcMethod } from '../../schema/worker-rpc.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { RemoteWorker } from '../provider.ts';

export interface CallDeps {
  clock: Clock;
  ids: Ids;
}

export interface WorkerCall {
  method: RpcMethod;
  params: Record<string, unknown>;
  lease?: Lease | undefined;
  /** Validates the result: returns what is wrong, or undefined. */
  fault: Validator;
  signal: AbortSignal;
}

const MAX_REPLY_BYTES = 256 * 1024;
const answerFault = validator(RpcAnswer, 'The answer');

/** Resolves with the result. Throws the error for the worker's code, `provider_error` for an invalid reply, or the reason of `signal`. */
export async function callWorker<T>(
  deps: CallDeps,
  { worker, outgoing }: { worker: RemoteWorker; outgoing: Outgoing },
  { method, params, lease, fault, signal }: WorkerCall,
): Promise<T> {
  const id = deps.ids.uuid();
  const reply = await outgoing.request({
    method: 'POST',
    path: '/rpc',
    headers: callHeaders(deps, worker),
    json: { id, method, worker_id: worker.id, params, ...(lease && { lease }) },
    maxBytes: MAX_REPLY_BYTES,
    signal,
  });
  const answer = await reply.json().catch((error: unknown) => {
    throw refusedByStatus(reply.status) ?? error;
  });
  if (answerFault(answer) !== undefined) throw refusedByStatus(reply.status) ?? strange();
  const { result, error, ...from } = answer as RpcAnswer;
  if (error) throw refused(error.code, error.message);
  const isOurs = from.id === id && from.worker_id === worker.id;
  if (!isOurs || result === undefined || fault(result) !== undefined) throw strange();
  return result as T;
}

/** Who calls: with a token for this call alone. */
export function callHeaders({ clock, ids }: CallDeps, { id, secret }: RemoteWorker): Record<string, string> {
  const claims = { worker_id: id, aud: 'worker:rpc', jti: ids.uuid(), now: clock.now() } as const;
  return { 'x-worker-id': id, 'x-worker-token': freshToken(secret, claims) };
}

/** The error of a reply that does not belong to a call, where its status is a refusal (by a proxy, perhaps). */
function refusedByStatus(status: number): ServiceError | undefined {
  const isRefusal = status === 401 || status === 403 || status === 503;
  return isRefusal ? refused('unauthorized', `status ${status}`) : undefined;
}

const LONGEST_REFUSAL = 4096;
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  not_found: 'The worker does not have the requested object.',
  conflict: 'The worker rejected the call: the lease does not match its own.',
  bad_request: 'The worker does not support this call.',
  not_implemented: 'The worker does not support this call.',
  resource_limit: 'The worker has no capacity.',
  timeout: 'The worker did not finish in time.',
  unavailable: 'The worker is temporarily unavailable.',
  provider_error: 'The provider of the worker failed.',
};

/** Clients get no details of credentials and leases, which concern this server and the worker only. */
export function refused(code: ErrorCode, text: string): ServiceError {
  const facts: ErrorFacts = { cause: new Error(text), remedy: 'Check the log of the worker.' };
  const words = MESSAGES[code];
  // A client needs to know the unmet parts of its strict spawn.
  if (code === 'precondition_failed')
    return new ServiceError(code, printable(text).slice(0, LONGEST_REFUSAL), { cause: facts.cause });
  if (words !== undefined) return new ServiceError(code, words, facts);
  if (code === 'unauthorized' || code === 'forbidden')
    return new ServiceError('unavailable', 'The worker does not accept our calls.', facts);
  return new ServiceError('provider_error', 'The worker failed.', facts);
}

function strange(): ServiceError {
  return new ServiceError('provider_error', 'The worker sent an invalid response.', {
    remedy: 'Check its rpc_url and its version.',
  });
}
