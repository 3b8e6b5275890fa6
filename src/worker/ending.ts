// Ends sandboxes of this worker: on request, when a lease or lifetime is over, or when a start failed.
import { ServiceError } from '../domain/errors.ts';
import { orAfter } from '../domain/timeout.ts';
import type { Provider } from '../providers/provider.ts';
import type { Lease } from '../schema/lease.ts';
import type {
  RpcDestroyResult,
  RpcRuntimeParams,
  RpcStatusParams,
  RpcStatusResult,
} from '../schema/worker-rpc.ts';
import { unaborted, type WorkerParts, type WorkerRuntime } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/** The maximum time that an end waits for the journal. */
const WRITE_MS = 10_000;
/** The maximum time that an end waits for the last reading of its counters. */
const LAST_READING_MS = 1000;

/**
 * Handles `worker.destroy`. A sandbox that is not here counts as destroyed, and the lease generation is remembered to
 * refuse a spawn that arrives late. Throws `not_found` if `runtime_id` does not belong to this sandbox.
 */
export async function destroySandbox(
  parts: WorkerParts,
  params: RpcRuntimeParams,
  lease: Lease,
): Promise<RpcDestroyResult> {
  const { sandboxes: held, credential } = parts;
  const { sandbox_id: id, provider } = params;
  parts.providers.get(provider);
  const require = () =>
    credential.requireLease(lease, { resource_id: id, seen: held.find(id)?.record.generation ?? 0 });
  require();
  held.find(id)?.abort?.abort(new ServiceError('unavailable', 'The sandbox was destroyed while it started.'));
  return held.lock.run(id, async () => {
    require();
    await held.seen(id, lease);
    const known = held.find(id);
    if (known) requireSame(known, params);
    if (known && known.record.state !== 'ended') await endRuntime(parts, known, 'it was destroyed');
    return { sandbox_id: id, state: 'gone', provider };
  });
}

/**
 * Runs under the sandbox's lock. If the provider fails, the sandbox stays `ending` and the watch retries. A journal
 * failure does not stop an end: after a restart the sweep finds what the journal missed.
 */
export async function endRuntime(parts: WorkerParts, known: WorkerSandbox, why: string): Promise<void> {
  const { providers, sessions, egress, logger } = parts;
  const { record } = known;
  const { sandbox_id, provider } = record;
  await noteAnyway(parts, sandbox_id, 'ending');
  egress?.close(sandbox_id);
  await sessions.end(sandbox_id);
  await readLast(parts, known);
  await providers.get(provider).destroy(refOf(record), unaborted());
  await noteAnyway(parts, sandbox_id, 'ended');
  logger.info({ sandbox_id, provider }, `Ending a sandbox: ${why}.`);
}

/** What is not measured in time is not known: an end does not wait for it. */
async function readLast({ providers, clock }: WorkerParts, known: WorkerSandbox): Promise<void> {
  const ref = refOf(known.record);
  const late = new AbortController();
  const reading = providers.get(ref.provider).usage?.([ref], late.signal);
  if (!reading) return;
  const readings = await orAfter(clock, LAST_READING_MS, reading, () => undefined).catch(() => undefined);
  late.abort();
  const last = readings?.get(ref.id);
  if (last) known.lastReading = last;
}

async function noteAnyway(
  { sandboxes, clock, logger }: WorkerParts,
  id: string,
  state: 'ending' | 'ended',
): Promise<void> {
  const slow = () => {
    throw new ServiceError('unavailable', 'The journal is too slow.');
  };
  await orAfter(clock, WRITE_MS, sandboxes.note(id, { state }), slow).catch((err: unknown) => {
    sandboxes.assume(id, { state });
    logger.error({ sandbox_id: id, state, err }, 'Could not write the journal; ending the sandbox anyway.');
  });
}

export function refOf({ sandbox_id: id, epoch, made, provider }: WorkerSandbox['record']): WorkerRuntime {
  return { runtime_id: made?.runtime_id, id, epoch, provider };
}

/** Throws `not_found` for a runtime or provider that does not belong to the sandbox. */
export function requireSame({ record }: WorkerSandbox, { runtime_id, provider }: RpcRuntimeParams): void {
  const isSame =
    (record.made === undefined || runtime_id === undefined || record.made.runtime_id === runtime_id) &&
    (record.provider === '' || record.provider === provider);
  if (!isSame) throw new ServiceError('not_found', 'This worker does not have this runtime of the sandbox.');
}

/**
 * Handles `worker.status`, which needs no lease. Waits for a start or end in progress without delaying it. Throws `not_found` if
 * the provider or runtime does not belong to the sandbox.
 */
export async function sandboxStatus(
  { sandboxes: held, providers }: WorkerParts,
  params: RpcStatusParams,
  signal: AbortSignal,
): Promise<RpcStatusResult> {
  const { sandbox_id } = params;
  const provider = providers.get(params.provider);
  const known = await held.lock.run(sandbox_id, async () => held.find(sandbox_id));
  if (known) requireSame(known, params);
  const lives = known !== undefined && known.record.state === 'running';
  const state = lives ? await provider.inspect(refOf(known.record), signal) : 'gone';
  const image =
    known && params.image ? { image_is_current: await hasCurrentImage(known, provider, signal) } : {};
  return { sandbox_id, state, provider: provider.kind, ...image };
}

/** False where nobody knows any more what the image was when the sandbox started. */
async function hasCurrentImage(
  { startedFrom }: WorkerSandbox,
  provider: Provider,
  signal: AbortSignal,
): Promise<boolean> {
  if (!provider.imageId) return true;
  return startedFrom !== undefined && (await provider.imageId(startedFrom.spec, signal)) === startedFrom.id;
}
