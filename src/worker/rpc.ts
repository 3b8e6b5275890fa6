// Handles one call, from request body to response body. The caller is already authenticated.
import { ServiceError } from '../domain/errors.ts';
import { errorAnswer, logFailure, toServiceError } from '../http/errors.ts';
import type { Lease } from '../schema/lease.ts';
import { validator } from '../schema/validator.ts';
import {
  type RpcAnswer,
  RpcImageParams,
  type RpcMethod,
  RpcRenewParams,
  RpcRequest,
  RpcRuntimeParams,
  RpcSpawnParams,
  RpcStatusParams,
  RpcUsageParams,
} from '../schema/worker-rpc.ts';
import { otherWorker } from './credential.ts';
import { destroySandbox, sandboxStatus } from './ending.ts';
import { readyImage } from './ready-image.ts';
import { renewOnRequest } from './renewal.ts';
import { checkedParams, type Method } from './rpc-method.ts';
import { spawnSandbox } from './spawn.ts';
import { sandboxUsage } from './usage.ts';
import { IMAGE_RPC } from './worker-images-rpc.ts';
import type { WorkerParts } from './worker-parts.ts';

const fault = validator(RpcRequest, 'The body');

/**
 * Rejects with `bad_request` for an invalid request that cannot be answered. All other failures are in the answer, with
 * their status.
 */
export async function answerRpc(
  parts: WorkerParts,
  body: unknown,
  { requestId, signal }: { requestId: string; signal: AbortSignal },
): Promise<{ status: number; answer: RpcAnswer }> {
  const wrong = fault(body);
  if (wrong) throw new ServiceError('bad_request', wrong);
  const request = body as RpcRequest;
  const addressed = { id: request.id, worker_id: parts.id };
  try {
    const result = await perform(parts, request, signal);
    return { status: 200, answer: { ...addressed, result: { ...result } } };
  } catch (error) {
    const failure = toServiceError(error);
    logFailure(parts.logger.child({ rpc: request.method }), failure, requestId);
    const { status, body: failed } = errorAnswer(failure, requestId);
    return { status, answer: { ...addressed, error: { code: failed.code, message: failed.message } } };
  }
}

async function perform(parts: WorkerParts, request: RpcRequest, signal: AbortSignal): Promise<object> {
  if (request.worker_id !== parts.id) throw otherWorker();
  const method = Object.hasOwn(RPC, request.method) ? RPC[request.method as keyof typeof RPC] : undefined;
  if (!method) throw new ServiceError('bad_request', 'There is no such method.');
  const wrong = method.fault(request.params);
  if (wrong) throw new ServiceError('bad_request', wrong);
  return method.run(parts, request, signal);
}

const RPC: Record<RpcMethod, Method> = {
  'worker.spawn': {
    fault: checkedParams(RpcSpawnParams),
    // Continues after the caller disconnects: a started sandbox is finished, then requested again or destroyed.
    run: (parts, { params, lease }) => spawnSandbox(parts, params as RpcSpawnParams, required(lease)),
  },
  'worker.status': {
    fault: checkedParams(RpcStatusParams),
    run: (parts, { params }, signal) => sandboxStatus(parts, params as RpcStatusParams, signal),
  },
  'worker.destroy': {
    fault: checkedParams(RpcRuntimeParams),
    run: (parts, { params, lease }) => destroySandbox(parts, params as RpcRuntimeParams, required(lease)),
  },
  'worker.renew_lease': {
    fault: checkedParams(RpcRenewParams),
    run: (parts, { params, lease }, signal) =>
      renewOnRequest(parts, params as RpcRenewParams, { lease: required(lease), signal }),
  },
  'worker.image': {
    fault: checkedParams(RpcImageParams),
    run: (parts, { params }, signal) => readyImage(parts, params as RpcImageParams, signal),
  },
  'worker.usage': {
    fault: checkedParams(RpcUsageParams),
    run: (parts, { params }, signal) => sandboxUsage(parts, params as RpcUsageParams, signal),
  },
  ...IMAGE_RPC,
  'worker.shutdown': {
    fault: () => undefined,
    run: async ({ draining }, { params }) => {
      draining.ask(params.drain === true);
      return { status: 'draining' };
    },
  },
};

function required(lease: Lease | undefined): Lease {
  if (lease) return lease;
  throw new ServiceError('bad_request', 'This method needs a lease.');
}
