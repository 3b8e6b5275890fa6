// Ends what this worker holds: when it is told to, when a lease or a life is over, when a start failed.
import { ServiceError } from '../domain/errors.ts';
import type { RuntimeRef } from '../providers/provider.ts';
import type { Lease } from '../schema/lease.ts';
import type { RpcDestroyResult, RpcRuntimeParams } from '../schema/worker-rpc.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/** That an end waits for its journal. */
const WRITE_MS = 10_000;

/**
 * `worker.destroy`. What is not here is gone, and stays away: the generation of the lease is remembered, so that a spawn
 * which it has overtaken is refused. `not_found` when `runtime_id` is not that of this sandbox.
 */
export async function destroySandbox(
  parts: WorkerParts,
  params: RpcRuntimeParams,
  lease: Lease,
): Promise<RpcDestroyResult> {
  const { held, credential } = parts;
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
 * Under the sandbox's lock. When the provider fails it stays `ending`, to be tried again by the watch. A journal that cannot
 * be written stops no end: after a restart the sweep finds what the journal missed.
 */
export async function endRuntime(parts: WorkerParts, { record }: WorkerSandbox, why: string): Promise<void> {
  const { providers, logger } = parts;
  const { sandbox_id, provider } = record;
  await noteAnyway(parts, sandbox_id, 'ending');
  await providers.get(provider).destroy(refOf(record), unaborted());
  await noteAnyway(parts, sandbox_id, 'ended');
  logger.info({ sandbox_id, provider }, `A sandbox is ended: ${why}.`);
}

async function noteAnyway(
  { held, clock, logger }: WorkerParts,
  id: string,
  state: 'ending' | 'ended',
): Promise<void> {
  const enough = new AbortController();
  const impatient = clock.sleep(WRITE_MS, enough.signal).then(() => {
    throw new ServiceError('unavailable', 'The journal is slow.');
  });
  try {
    await Promise.race([held.note(id, { state }), impatient]);
  } catch (err) {
    held.assume(id, { state });
    logger.error(
      { sandbox_id: id, state, err },
      'The journal cannot be written; a sandbox is ended all the same.',
    );
  } finally {
    enough.abort();
  }
}

export function refOf({ sandbox_id: id, epoch, made }: WorkerSandbox['record']): RuntimeRef {
  return { runtime_id: made?.runtime_id, id, epoch };
}

/** Throws `not_found` for a runtime or provider that is not that of the sandbox. */
export function requireSame({ record }: WorkerSandbox, { runtime_id, provider }: RpcRuntimeParams): void {
  const isSame =
    (record.made === undefined || runtime_id === undefined || record.made.runtime_id === runtime_id) &&
    (record.provider === '' || record.provider === provider);
  if (!isSame) throw new ServiceError('not_found', 'This worker has no such runtime of the sandbox.');
}
