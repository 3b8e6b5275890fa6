// Renews leases: the worker in time, or when the control plane requests it. Only the control plane can end a lease
// early; if it cannot be reached, the lease expires.
import { formatDuration, parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Lease } from '../schema/lease.ts';
import type { RpcRenewParams, RpcRenewResult } from '../schema/worker-rpc.ts';
import { passLifetime } from './agent-end.ts';
import type { WorkerParts } from './worker-parts.ts';

/** Codes that mean the lease no longer belongs to this worker. Any other failure leaves that open. */
const OVER = new Set(['conflict', 'not_found']);

/**
 * Renews the lease of a running sandbox. Rejects with `conflict` or `not_found` if the control plane refuses; the
 * caller then ends the sandbox.
 */
export async function renewLease(
  { link, sandboxes: held, clock, credential, id: worker_id }: WorkerParts,
  id: string,
  { ttlMs, signal }: { ttlMs: number; signal: AbortSignal },
): Promise<RpcRenewResult> {
  const requestedAt = clock.monotonic();
  const answer = await link.renew({ worker_id, resource_id: id, ttl: formatDuration(ttlMs) }, signal);
  const { lease, sandbox_ttl } = answer;
  credential.requireLease(lease, { resource_id: id, seen: held.find(id)?.record.generation ?? 0 });
  const lifeMs = sandbox_ttl === undefined ? undefined : parseDuration(sandbox_ttl, 'sandbox_ttl');
  // The sandbox may have ended in the meantime.
  if (held.find(id)?.record.state === 'running') await held.adopt(id, lease, { requestedAt, lifeMs });
  return answer;
}

export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceError && OVER.has(error.code);
}

/** Handles `worker.renew_lease`: the control plane extends the sandbox and sends a valid lease. */
export async function renewOnRequest(
  parts: WorkerParts,
  params: RpcRenewParams,
  { lease, signal }: { lease: Lease; signal: AbortSignal },
): Promise<RpcRenewResult> {
  const { sandboxes: held, credential, clock } = parts;
  const { resource_id: id, sandbox_ttl } = params;
  const ttlMs = parseDuration(params.ttl, 'ttl');
  const lifeMs = sandbox_ttl === undefined ? undefined : parseDuration(sandbox_ttl, 'sandbox_ttl');
  const requestedAt = clock.monotonic();
  const known = held.find(id);
  credential.requireLease(lease, { resource_id: id, seen: known?.record.generation ?? 0 });
  if (known?.record.state !== 'running')
    throw new ServiceError('not_found', 'This worker has no such sandbox.');
  const answer = await renewLease(parts, id, { ttlMs, signal }).catch((error: unknown) => {
    if (isRefusal(error)) throw error;
    // Its other codes speak of the control plane, where the caller would read them as this worker's.
    throw new ServiceError('unavailable', 'The control plane could not renew the lease.', { cause: error });
  });
  if (lifeMs !== undefined && known.record.state === 'running')
    await passLifetime(parts, await held.adopt(id, answer.lease, { requestedAt, lifeMs }));
  return answer;
}
