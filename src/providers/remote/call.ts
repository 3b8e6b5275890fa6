// One call to a worker: `POST /rpc` with a fresh token and a validated reply. A worker's message goes to the log only; the
// client gets our own message for its code.
import { type ErrorFacts, ServiceError } from '../../domain/errors.ts';
import type { Clock, Ids } from '../../domain/ports.ts';
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
  /** Maximum size of the reply; 256 KiB by default. */
  maxBytes?: number;
  signal: AbortSignal;
}

/** When to try again a call that a worker could not do just then. */
const AGAIN_MS = 1000;
const MAX_REPLY_BYTES = 256 * 1024;
const answerFault = validator(RpcAnswer, 'The answer');

/** Resolves with the result. Throws the error for the worker's code, `provider_error` for an invalid reply, or the reason of `signal`. */
export async function callWorker<T>(
  deps: CallDeps,
  { worker, outgoing }: { worker: RemoteWorker; outgoing: Outgoing },
  { method, params, lease, fault, maxBytes = MAX_REPLY_BYTES, signal }: WorkerCall,
): Promise<T> {
  const id = deps.ids.uuid();
  const reply = await outgoing.request({
    method: 'POST',
    path: '/rpc',
    headers: callHeaders(deps, worker),
    json: { id, method, worker_id: worker.id, params, ...(lease && { lease }) },
    maxBytes,
    signal,
  });
  const answer = await reply.json().catch((error: unknown) => {
    throw refusedByStatus(worker.id, reply.status) ?? error;
  });
  if (answerFault(answer) !== undefined) throw refusedByStatus(worker.id, reply.status) ?? strange(worker.id);
  const { result, error, ...from } = answer as RpcAnswer;
  if (error)
    throw error.code === 'precondition_failed'
      ? new WorkerDiffers(error.message)
      : refused(worker.id, error.code, error.message);
  const isOurs = from.id === id && from.worker_id === worker.id;
  if (!isOurs || result === undefined || fault(result) !== undefined) throw strange(worker.id);
  return result as T;
}

/** Who calls: with a token for this call alone. */
export function callHeaders({ clock, ids }: CallDeps, { id, secret }: RemoteWorker): Record<string, string> {
  const claims = { worker_id: id, aud: 'worker:rpc', jti: ids.uuid(), now: clock.now() } as const;
  return { 'x-worker-id': id, 'x-worker-token': freshToken(secret, claims) };
}

/** The error of a reply that does not belong to a call, where its status is a refusal (by a proxy, perhaps). */
function refusedByStatus(worker_id: string, status: number): ServiceError | undefined {
  const isRefusal = status === 401 || status === 403 || status === 503;
  return isRefusal ? refused(worker_id, 'unauthorized', `status ${status}`) : undefined;
}

/** What a worker does by its code, after "Worker <id>". */
const FAILURES: Partial<Record<ErrorCode, string>> = {
  not_found: 'does not have the requested object',
  conflict: 'rejected the call: the lease does not match its own',
  bad_request: 'does not support this call',
  not_implemented: 'does not support this call',
  resource_limit: 'has no capacity',
  timeout: 'did not finish in time',
  unavailable: 'is temporarily unavailable',
  provider_error: 'could not do this: its provider failed',
};

/** A worker's error in our words: `text`, its own, is kept as the cause, for the log. */
export function refused(worker_id: string, code: ErrorCode, text: string): ServiceError {
  const facts: ErrorFacts = {
    cause: new Error(text),
    remedy: `Check the log of worker ${worker_id}.`,
    details: { worker_id },
  };
  if (code === 'unavailable') facts.retryAfterMs = AGAIN_MS;
  const says = FAILURES[code];
  if (says !== undefined) return new ServiceError(code, `Worker ${worker_id} ${says}.`, facts);
  // Credentials concern this server and the worker only.
  if (code === 'unauthorized' || code === 'forbidden')
    return new ServiceError('unavailable', `Worker ${worker_id} does not accept our calls.`, facts);
  return new ServiceError('provider_error', `Worker ${worker_id} failed.`, facts);
}

/** A worker refuses a strict spawn. Its message lists the differences; the provider shows those that it knows. */
export class WorkerDiffers extends ServiceError {
  readonly text: string;

  constructor(text: string) {
    super('precondition_failed', 'The sandbox would differ from the request.', { cause: new Error(text) });
    this.text = text;
  }
}

function strange(worker_id: string): ServiceError {
  return new ServiceError('provider_error', `Worker ${worker_id} sent an invalid response.`, {
    remedy: 'Check its rpc_url and its version.',
    details: { worker_id },
  });
}
