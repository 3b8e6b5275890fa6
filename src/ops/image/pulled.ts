// `svc image pull`: one image from a registry into the store of this machine.
import { ServiceError } from '../../domain/errors.ts';
import { type PullDeps, type PullEvent, pullImage } from '../../images/registry/pull.ts';
import { storedImage } from '../../images/shown-images.ts';
import { PLATFORM, type PulledImage } from '../../schema/image-calls.ts';

const SHAPE = new RegExp(PLATFORM);

export interface PullOrder {
  image: string;
  platform: string | undefined;
  signal: AbortSignal;
  onStage?(stage: string, done?: number, total?: number): void;
}

/** Throws as `pullImage` does, and `bad_request` for a platform that cannot be one. */
export async function pullHere(deps: PullDeps, order: PullOrder): Promise<PulledImage> {
  const { image, platform, signal, onStage } = order;
  if (platform !== undefined && !SHAPE.test(platform)) throw noPlatform();
  onStage?.('ask');
  const onEvent = onStage && stagesOf(onStage);
  const { found, fetchedBytes, isUnchanged } = await pullImage(deps, {
    image,
    platform,
    pull: 'always',
    for: 'all',
    signal,
    onEvent,
  });
  const stored = await storedImage(deps.store.root, found.name);
  return { ...stored, fetched_bytes: fetchedBytes, unchanged: isUnchanged };
}

/** Several layers are fetched at once, so one line shows the bytes of all, and the number of the layer that moved last. */
function stagesOf(onStage: NonNullable<PullOrder['onStage']>): (event: PullEvent) => void {
  let layers = 0;
  let total = 0;
  const done = new Map<number, number>();
  return (event) => {
    if (event.stage === 'tree') return onStage('tree');
    if (event.stage === 'resolve') {
      layers = event.layers;
      total = event.total_bytes;
      return;
    }
    if (event.stage === 'unpack') return onStage(`Unpacking layer ${event.layer} of ${layers}`);
    done.set(event.layer, event.done_bytes);
    const bytes = [...done.values()].reduce((sum, each) => sum + each, 0);
    onStage(`Fetching layer ${event.layer} of ${layers}`, bytes, total);
  };
}

function noPlatform(): ServiceError {
  return new ServiceError('bad_request', 'The platform is invalid.', {
    remedy: 'Write it like linux/arm64 or linux/arm/v7.',
  });
}
