// The RPC methods with the schemas of their parameters.
import { ServiceError } from '../domain/errors.ts';
import type { Lease } from '../schema/lease.ts';
import { type Validator, validator } from '../schema/validator.ts';
import {
  type RpcMethod,
  RpcRenewParams,
  type RpcRequest,
  RpcRuntimeParams,
  RpcSpawnParams,
} from '../schema/worker-rpc.ts';
import { destroySandbox } from './ending.ts';
import { renewWhenAsked } from './renewal.ts';
import { spawnSandbox } from './spawn.ts';
import { sandboxStatus } from './status.ts';
import type { WorkerParts } from './worker-parts.ts';

interface Method {
  fault: Validator;
  /** `signal` aborts when the caller disconnects. */
  run(parts: WorkerParts, request: RpcRequest, signal: AbortSignal): Promise<object>;
}

const checked = (schema: Parameters<typeof validator>[0]) => validator(schema, 'params');

export const RPC: Record<RpcMethod, Method> = {
  'worker.spawn': {
    fault: checked(RpcSpawnParams),
    // Continues after the caller disconnects: a started sandbox is finished, then requested again or destroyed.
    run: (parts, { params, lease }) => spawnSandbox(parts, params as RpcSpawnParams, required(lease)),
  },
  'worker.status': {
    fault: checked(RpcRuntimeParams),
    run: (parts, { params }, signal) => sandboxStatus(parts, params as RpcRuntimeParams, signal),
  },
  'worker.destroy': {
    fault: checked(RpcRuntimeParams),
    run: (parts, { params, lease }) => destroySandbox(parts, params as RpcRuntimeParams, required(lease)),
  },
  'worker.renew_lease': {
    fault: checked(RpcRenewParams),
    run: (parts, { params, lease }, signal) =>
      renewWhenAsked(parts, params as RpcRenewParams, { lease: required(lease), signal }),
  },
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
