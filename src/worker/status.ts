// `worker.status`: what became of a sandbox here. Needs no lease, and changes nothing.
import type { RpcRuntimeParams, RpcStatusResult } from '../schema/worker-rpc.ts';
import { refOf, requireSame } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';

/** Waits for a start or an end that is under way. `not_found` when the provider or the runtime is not that of the sandbox. */
export function sandboxStatus(parts: WorkerParts, params: RpcRuntimeParams): Promise<RpcStatusResult> {
  const { held, providers } = parts;
  const provider = providers.get(params.provider);
  return held.lock.run(params.sandbox_id, async () => {
    const known = held.find(params.sandbox_id);
    if (known) requireSame(known, params);
    const lives = known !== undefined && known.record.state === 'running';
    const state = lives ? await provider.inspect(refOf(known.record), unaborted()) : 'gone';
    return { sandbox_id: params.sandbox_id, state, provider: provider.kind };
  });
}
