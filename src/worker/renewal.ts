// Renews leases: in time by the worker itself, and when the control plane asks for it. Only the control plane says that a
// lease is over before its time; when it cannot be reached the lease runs out.
import { formatDuration, parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Lease } from '../schema/lease.ts';
import type { RpcRenewParams, RpcRenewResult } from '../schema/worker-rpc.ts';
import type { WorkerParts } from './worker-parts.ts';

/** What says that the lease is not ours any more, whatever else fails says only that nobody knows. */
const OVER = new Set(['conflict', 'not_found']);

/** Of a sandbox that runs here. `conflict` or `not_found`: the control plane refuses, and the sandbox is to be ended. */
export async function renewLease(
  { link, held, clock, credential, id: worker_id }: WorkerParts,
  id: string,
  { ttlMs, signal }: { ttlMs: number; signal: AbortSignal },
): Promise<RpcRenewResult> {
  const askedAt = clock.monotonic();
  const answer = await link.renew({ worker_id, resource_id: id, ttl: formatDuration(ttlMs) }, signal);
  const { lease, sandbox_ttl } = answer;
  credential.requireLease(lease, { resource_id: id, seen: held.find(id)?.record.generation ?? 0 });
  const lifeMs = sandbox_ttl === undefined ? undefined : parseDuration(sandbox_ttl, 'sandbox_ttl');
  // It may have been ended while the answer was on its way.
  if (held.find(id)?.record.state === 'running') await held.adopt(id, lease, { askedAt, lifeMs });
  return answer;
}

export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && OVER.has(error.code);
}

/** `worker.renew_lease`: the control plane asks, with a lease that holds, since the sandbox is to live longer. */
export async function renewWhenAsked(
  parts: WorkerParts,
  params: RpcRenewParams,
  { lease, signal }: { lease: Lease; signal: AbortSignal },
): Promise<RpcRenewResult> {
  const { held, credential, clock } = parts;
  const { resource_id: id, sandbox_ttl } = params;
  const ttlMs = parseDuration(params.ttl, 'ttl');
  const lifeMs = sandbox_ttl === undefined ? undefined : parseDuration(sandbox_ttl, 'sandbox_ttl');
  const askedAt = clock.monotonic();
  const known = held.find(id);
  credential.requireLease(lease, { resource_id: id, seen: known?.record.generation ?? 0 });
  if (known?.record.state !== 'running')
    throw new ServiceError('not_found', 'This worker has no such sandbox.');
  const answer = await renewLease(parts, id, { ttlMs, signal });
  if (lifeMs !== undefined && known.record.state === 'running')
    await held.adopt(id, answer.lease, { askedAt, lifeMs });
  return answer;
}
