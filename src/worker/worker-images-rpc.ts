// Calls of the control plane on the image store of this worker.
import { asServiceError, ServiceError } from '../domain/errors.ts';
import type { IMAGE_METHODS, RpcImageFailure } from '../schema/worker-images.ts';
import {
  RpcListImages,
  RpcNamedImage,
  RpcPruneImages,
  RpcPullImage,
  RpcTagImage,
} from '../schema/worker-images.ts';
import { checkedParams, type Method } from './rpc-method.ts';
import type { WorkerImages } from './worker-images.ts';
import type { WorkerParts } from './worker-parts.ts';

export const IMAGE_RPC: Record<(typeof IMAGE_METHODS)[number], Method> = {
  'worker.list_images': method<RpcListImages>(RpcListImages, async ({ store }, params, signal) => ({
    images: await store.list(params, signal),
  })),
  'worker.get_image': method<RpcNamedImage>(RpcNamedImage, async ({ store }, params, signal) => ({
    image: await store.get(params.name, params, signal),
  })),
  // The pull continues when the caller disconnects, and the next call has its state.
  'worker.pull_image': method<RpcPullImage>(RpcPullImage, (images, { pull_id, wait_ms, ...order }) =>
    images.pull(pull_id, order, wait_ms),
  ),
  'worker.tag_image': method<RpcTagImage>(RpcTagImage, async ({ store }, params, signal) => ({
    image: await store.tag(params.name, params.other, params, signal),
  })),
  'worker.remove_image': method<RpcNamedImage>(RpcNamedImage, async ({ store }, params, signal) => ({
    removed: await store.remove(params.name, params, signal),
  })),
  'worker.prune_images': method<RpcPruneImages>(RpcPruneImages, async ({ store }, params, signal) => {
    const { unused_for_ms: unusedForMs, dry_run: dryRun, private_images } = params;
    return { pruned: await store.prune({ unusedForMs, dryRun, private_images }, signal) };
  }),
};

function method<P>(
  schema: Parameters<typeof checkedParams>[0],
  work: (images: WorkerImages, params: P, signal: AbortSignal) => Promise<object>,
): Method {
  return {
    fault: checkedParams(schema),
    run: async (parts, { params }, signal) => {
      try {
        return await work(imagesOf(parts), params as P, signal);
      } catch (error) {
        signal.throwIfAborted();
        return { failed: imageFailure(error) };
      }
    },
  };
}

/** Throws `not_implemented` on a worker without an image store. */
export function imagesOf({ images }: Pick<WorkerParts, 'images'>): WorkerImages {
  if (images) return images;
  throw new ServiceError('not_implemented', 'No provider of this worker runs images of a store.');
}

/** As a result: the codes of a call are about the call. */
export function imageFailure(error: unknown): RpcImageFailure {
  const { code, message, details, retryAfterMs } = asServiceError(error);
  const count = details?.sandboxes;
  return {
    code,
    message: message.slice(0, 4096),
    ...(typeof count === 'number' && { sandboxes: count }),
    ...(retryAfterMs !== undefined && { retry_after_ms: Math.round(retryAfterMs) }),
  };
}
