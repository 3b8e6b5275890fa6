// `worker.spawn`. The journal knows of a sandbox before its provider does, so that a worker that is killed in between finds
// and ends what it had begun.
import { parseDuration } from '../domain/duration.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Provider } from '../providers/provider.ts';
import type { Lease } from '../schema/lease.ts';
import type { RpcSpawnParams, RpcSpawnResult } from '../schema/worker-rpc.ts';
import type { MadeRuntime } from '../store/seam/worker-journal.ts';
import { endRuntime } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/**
 * Starts the sandbox, or answers as before when it runs here already: a control plane that lost the reply asks again.
 * `forbidden` for a lease that gives no right, also to one that was ended here since; `unavailable` when draining or full.
 */
export function spawnSandbox(
  parts: WorkerParts,
  params: RpcSpawnParams,
  lease: Lease,
): Promise<RpcSpawnResult> {
  const askedAt = parts.clock.monotonic();
  const lifeMs = parseDuration(params.ttl, 'ttl');
  return parts.held.lock.run(params.sandbox_id, async () => {
    const { held, credential } = parts;
    const known = held.find(params.sandbox_id);
    credential.requireLease(lease, { resource_id: params.sandbox_id, seen: known?.record.generation ?? 0 });
    const running = known && (await isRunning(parts, known));
    if (running) return resultOf(parts, await held.adopt(params.sandbox_id, lease, { askedAt, lifeMs }));
    refuseEnded(known, lease);
    refuseMore(parts);
    const provider = parts.providers.get(params.provider);
    if (known && known.record.state !== 'ended') await endRuntime(parts, known, 'it does not run any more');
    await start(parts, { params, lease, provider, terms: { askedAt, lifeMs } });
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

function refuseMore({ draining, held, maxSandboxes }: WorkerParts): void {
  if (draining.isDraining)
    throw new ServiceError('unavailable', 'This worker takes no more sandboxes: it is draining.');
  if (maxSandboxes > 0 && held.living().length >= maxSandboxes)
    throw new ServiceError('unavailable', 'This worker has no place left.');
}

interface Start {
  params: RpcSpawnParams;
  lease: Lease;
  provider: Provider;
  terms: { askedAt: number; lifeMs: number };
}

async function start(parts: WorkerParts, { params, lease, provider, terms }: Start): Promise<void> {
  const { held, clock } = parts;
  const { sandbox_id: id, memory_mb, vcpus, image, network = 'default', strict = false } = params;
  const epoch = lease.generation;
  const begun = { provider: provider.kind, epoch, state: 'starting', made: undefined } as const;
  const own = await held.begin(id, begun, lease, terms);
  const abort = new AbortController();
  own.abort = abort;
  const expires_at = own.record.sandbox_ends_at;
  // A start is not renewed: it is over with its lease, as everything else.
  const timer = clock.after(own.leaseEnds - clock.monotonic(), () => abort.abort(leaseOver()));
  try {
    const spec = { id, epoch, image, memory_mb, vcpus, network, expires_at, strict };
    const made = plain(await provider.create(spec, abort.signal));
    // Whatever follows, its end knows which runtime it is.
    held.assume(id, { made });
    abort.signal.throwIfAborted();
    await held.note(id, { state: 'running', made });
  } catch (error) {
    // Also what a provider reports as failed may have left a runtime.
    await endRuntime(parts, own, 'its start failed');
    throw error;
  } finally {
    timer.cancel();
    delete own.abort;
  }
}

function leaseOver(): ServiceError {
  return new ServiceError('unavailable', 'The lease was over before the sandbox ran.');
}

function plain({ runtime_id, image, memory_mb, vcpus, warnings }: MadeRuntime): MadeRuntime {
  return { runtime_id, image, memory_mb, vcpus, warnings };
}

function resultOf({ id }: WorkerParts, held: WorkerSandbox | undefined): RpcSpawnResult {
  if (!held?.record.made) throw new Error('a sandbox runs without a runtime');
  const { sandbox_id, provider, made } = held.record;
  return { sandbox_id, ...made, state: 'running', provider, worker_id: id };
}
