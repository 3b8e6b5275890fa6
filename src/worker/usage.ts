// What sandboxes of this worker use. The last reading of one that has ended is kept as long as the worker remembers it.
import type { RuntimeRef } from '../providers/provider.ts';
import type { RpcUsageParams, RpcUsageResult } from '../schema/worker-rpc.ts';
import { refOf } from './ending.ts';
import type { WorkerParts } from './worker-parts.ts';

/** Handles `worker.usage`, which needs no lease: it changes nothing. */
export async function sandboxUsage(
  { sandboxes: held, providers }: Pick<WorkerParts, 'sandboxes' | 'providers'>,
  params: RpcUsageParams,
  signal: AbortSignal,
): Promise<RpcUsageResult> {
  const provider = providers.get(params.provider);
  const readings: RpcUsageResult['readings'] = {};
  const refs: RuntimeRef[] = [];
  for (const id of params.sandbox_ids) {
    const known = held.find(id);
    if (known?.record.provider !== params.provider) continue;
    if (known.lastReading) readings[id] = known.lastReading;
    else if (known.record.state === 'running') refs.push(refOf(known.record));
  }
  const live = refs.length > 0 ? await provider.usage?.(refs, signal) : undefined;
  for (const [id, reading] of live ?? []) readings[id] = reading;
  return { readings };
}
