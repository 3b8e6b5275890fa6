// Handles `worker.status`. It needs no lease and changes nothing.
import type { RpcRuntimeParams, RpcStatusResult } from '../schema/worker-rpc.ts';
import { refOf, requireSame } from './ending.ts';
import type { WorkerParts } from './worker-parts.ts';

/**
 * Waits for a start or end in progress without delaying it. Throws `not_found` if the provider or runtime does not
 * belong to the sandbox.
 */
export async function sandboxStatus(
  { sandboxes: held, providers }: WorkerParts,
  params: RpcRuntimeParams,
  signal: AbortSignal,
): Promise<RpcStatusResult> {
  const { sandbox_id } = params;
  const provider = providers.get(params.provider);
  const known = await held.lock.run(sandbox_id, async () => held.find(sandbox_id));
  if (known) requireSame(known, params);
  const lives = known !== undefined && known.record.state === 'running';
  const state = lives ? await provider.inspect(refOf(known.record), signal) : 'gone';
  return { sandbox_id, state, provider: provider.kind };
}
