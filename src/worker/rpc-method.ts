// A method of `POST /rpc`.
import { type Validator, validator } from '../schema/validator.ts';
import type { RpcRequest } from '../schema/worker-rpc.ts';
import type { WorkerParts } from './worker-parts.ts';

export interface Method {
  /** Returns what is wrong with the params, or undefined. */
  fault: Validator;
  /** `signal` aborts when the caller disconnects. */
  run(parts: WorkerParts, request: RpcRequest, signal: AbortSignal): Promise<object>;
}

export const checkedParams = (schema: Parameters<typeof validator>[0]): Validator =>
  validator(schema, 'params');
