// Handles `worker.spawn`. The journal records a sandbox before its provider starts it, so that a worker that was killed
// in between finds and ends it.
import { parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import { withTimeout } from '../domain/timeout.ts';
import type { Provider } from '../providers/provider.ts';
import type { Lease } from '../schema/lease.ts';
import type { RpcSpawnParams, RpcSpawnResult } from '../schema/worker-rpc.ts';
import type { MadeRuntime } from '../store/seam/worker-journal.ts';
import { agentEnd } from './agent-end.ts';
import { endRuntime } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/**
 * Starts the sandbox, or repeats the answer if it already runs here because a control plane that lost the reply
 * retries. Throws `forbidden` for an invalid lease or one whose sandbox has ended here, `unavailable` when draining or
 * full.
 */
export function spawnSandbox(
  parts: WorkerParts,
  params: RpcSpawnParams,
  lease: Lease,
): Promise<RpcSpawnResult> {
  const requestedAt = parts.clock.monotonic();
  const lifeMs = parseDuration(params.ttl, 'ttl');
  return parts.sandboxes.lock.run(params.sandbox_id, async () => {
    const { sandboxes: held, credential } = parts;
    const known = held.find(params.sandbox_id);
    credential.requireLease(lease, { resource_id: params.sandbox_id, seen: known?.record.generation ?? 0 });
    const running = known && (await isRunning(parts, known));
    if (running) return resultOf(parts, await held.adopt(params.sandbox_id, lease, { requestedAt, lifeMs }));
    refuseEnded(known, lease);
    refuseMore(parts);
    const provider = parts.providers.get(params.provider);
    if (known && known.record.state !== 'ended') await endRuntime(parts, known, 'it no longer runs');
    await start(parts, { params, lease, provider, terms: { requestedAt, lifeMs } });
    return resultOf(parts, held.find(params.sandbox_id));
  });
}

async function isRunning({ providers }: WorkerParts, { record }: WorkerSandbox): Promise<boolean> {
  const { sandbox_id: id, epoch, made, state } = record;
  if (state !== 'running' || made === undefined) return false;
  const ref = { runtime_id: made.runtime_id, id, epoch };
  return (await providers.get(record.provider).inspect(ref, unaborted())) === 'running';
}

function refuseEnded(known: WorkerSandbox | undefined, { generation }: Lease): void {
  if (known && generation <= known.record.generation)
    throw new ServiceError('forbidden', 'The sandbox was ended under this lease.');
}

function refuseMore({ draining, sandboxes: held, maxSandboxes }: WorkerParts): void {
  if (draining.isDraining)
    throw new ServiceError('unavailable', 'This worker is draining and does not accept new sandboxes.');
  if (maxSandboxes > 0 && held.living().length >= maxSandboxes)
    throw new ServiceError('unavailable', 'This worker has no capacity left.');
}

interface Start {
  params: RpcSpawnParams;
  lease: Lease;
  provider: Provider;
  terms: { requestedAt: number; lifeMs: number };
}

async function start(parts: WorkerParts, { params, lease, provider, terms }: Start): Promise<void> {
  const { sandboxes, clock } = parts;
  const { sandbox_id: id, memory_mb, vcpus, image, image_policy } = params;
  const { network = 'default', strict = false, private_images, gate, trust } = params;
  const epoch = lease.generation;
  const first = { provider: provider.kind, epoch, state: 'starting', made: undefined } as const;
  const own = await sandboxes.begin(id, first, lease, terms);
  const abort = new AbortController();
  own.abort = abort;
  const expires_at = own.record.sandbox_ends_at;
  const deadline = agentEnd(own);
  const size = { memory_mb, vcpus, network };
  const egress = { ...(gate && { gate: true as const }), ...(trust !== undefined && { trust }) };
  const how = { image, image_policy, private_images, ...egress };
  const spec = { id, epoch, ...how, ...size, expires_at, strict, deadline };
  // A start is not renewed: it must finish within its lease.
  const ms = own.leaseEnds - clock.monotonic();
  const error = () => new ServiceError('unavailable', 'The lease expired before the sandbox ran.');
  try {
    await withTimeout({ clock, ms, error, signal: abort.signal }, async (signal) => {
      // Before the start: if the name leads to another image meanwhile, the sandbox counts as one of the earlier.
      const imageId = await provider.imageId?.({ image }, signal).catch(() => undefined);
      if (imageId !== undefined) own.startedFrom = { spec: { image }, id: imageId };
      const made = plain(await provider.create(spec, signal));
      // From here on an end knows the runtime.
      sandboxes.assume(id, { made });
      own.agentEnds = deadline;
      signal.throwIfAborted();
      await sandboxes.note(id, { state: 'running', made });
    });
  } catch (failure) {
    // A failed start may also have left a runtime.
    await endRuntime(parts, own, 'its start failed');
    throw failure;
  } finally {
    delete own.abort;
  }
}

function plain({ runtime_id, image, image_digest, memory_mb, vcpus, warnings }: MadeRuntime): MadeRuntime {
  const digest = image_digest === undefined ? {} : { image_digest };
  return { runtime_id, image, ...digest, memory_mb, vcpus, warnings };
}

function resultOf({ id }: WorkerParts, held: WorkerSandbox | undefined): RpcSpawnResult {
  if (!held?.record.made) throw new Error('a sandbox runs without a runtime');
  const { sandbox_id, provider, made } = held.record;
  return { sandbox_id, ...made, state: 'running', provider, worker_id: id };
}
