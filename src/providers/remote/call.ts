// One call to a worker: `POST /rpc` with a fresh token, an answer of known shape. What a worker says goes no further than the
// log: our own words say what its code means.
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
  /** What is wrong with a result; undefined when nothing is. */
  fault: Validator;
  signal: AbortSignal;
}

const MAX_REPLY_BYTES = 256 * 1024;
const answerFault = validator(RpcAnswer, 'The answer');

/** The result. Throws as the worker's code says, `provider_error` for an answer that is none, or the reason of `signal`. */
export async function callWorker<T>(
  { clock, ids }: CallDeps,
  { worker, outgoing }: { worker: RemoteWorker; outgoing: Outgoing },
  { method, params, lease, fault, signal }: WorkerCall,
): Promise<T> {
  const id = ids.uuid();
  const reply = await outgoing.request({
    method: 'POST',
    path: '/rpc',
    headers: {
      'x-worker-id': worker.id,
      'x-worker-token': freshToken(worker.secret, {
        ...{ worker_id: worker.id, aud: 'worker:rpc', jti: ids.uuid(), now: clock.now() },
      }),
    },
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

/** Of an answer that is no answer to a call: whether it was refused before it was looked at, by a proxy perhaps. */
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

/** Credentials and leases are between us and the worker: a client has no part in them. */
function refused(code: ErrorCode, said: string): ServiceError {
  const facts: ErrorFacts = { cause: new Error(said), remedy: 'Check the log of the worker.' };
  const words = MESSAGES[code];
  // What a strict spawn is not given is the client's to know.
  if (code === 'precondition_failed')
    return new ServiceError(code, printable(said).slice(0, LONGEST_REFUSAL), { cause: facts.cause });
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
