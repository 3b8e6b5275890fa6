// Handles `worker.image`: gets the image of a sandbox that will be spawned here, by the policy of the control plane and at most
// as images.pull of this worker allows. Credentials and registries are those of this worker's configuration.
import { ServiceError } from '../domain/errors.ts';
import { withTimeout } from '../domain/timeout.ts';
import { toServiceError } from '../http/errors.ts';
import type { RpcImageParams, RpcImageResult } from '../schema/worker-rpc.ts';
import type { WorkerParts } from './worker-parts.ts';

/** Shorter than the timeout of a call: the control plane repeats it. */
const ANSWER_MS = 20_000;

/** The pull continues after the answer `pulling`, and when the caller disconnects. */
export async function readyImage(
  { providers, clock }: Pick<WorkerParts, 'providers' | 'clock'>,
  { provider, ...spec }: RpcImageParams,
  signal: AbortSignal,
): Promise<RpcImageResult> {
  const late = new ServiceError('unavailable', 'The image is still being pulled.');
  try {
    const notes = await withTimeout({ clock, ms: ANSWER_MS, error: () => late, signal }, async (inTime) =>
      providers.get(provider).readyImage?.(spec, inTime),
    );
    return notes && notes.length > 0 ? { state: 'ready', pulled: true } : { state: 'ready' };
  } catch (error) {
    if (error === late) return { state: 'pulling' };
    signal.throwIfAborted();
    return failed(toServiceError(error));
  }
}

/** As a result: the codes of a call are about the call. */
function failed({ code, message, retryAfterMs }: ServiceError): RpcImageResult {
  const again = retryAfterMs === undefined ? {} : { retry_after_ms: Math.round(retryAfterMs) };
  return { state: 'failed', code, message, ...again };
}
