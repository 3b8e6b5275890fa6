// The image store of a worker, and the pulls that its control planes follow: each asks again for the state of its pull.
import { ServiceError } from '../domain/errors.ts';
import type { ImagePullOrder, MachineImages } from '../domain/machine-images.ts';
import type { Clock } from '../domain/ports.ts';
import { orAfter } from '../domain/timeout.ts';
import type { ImageProgress, PulledImage } from '../schema/image-calls.ts';

/** Pulls whose state is kept, for control planes that may ask again. */
const MOST_PULLS = 64;
const AGAIN_MS = 10_000;

interface FollowedPull {
  result: Promise<PulledImage>;
  isOver: boolean;
  /** The newest by stage and layer. */
  progress: Map<string, ImageProgress>;
}

export class WorkerImages {
  readonly store: MachineImages;
  readonly #clock: Clock;
  readonly #pulls = new Map<string, FollowedPull>();

  constructor(store: MachineImages, clock: Clock) {
    this.store = store;
    this.#clock = clock;
  }

  /** The image, or how far its pull is after `waitMs`. Throws as the pull does, and `unavailable` for one too many. */
  async pull(
    id: string,
    order: ImagePullOrder,
    waitMs: number,
  ): Promise<{ image: PulledImage } | { progress: ImageProgress[] }> {
    const pull = this.#pulls.get(id) ?? this.#begin(id, order);
    const image = await orAfter(this.#clock, waitMs, pull.result, () => undefined);
    if (image) return { image };
    const progress = [...pull.progress.values()];
    pull.progress.clear();
    return { progress };
  }

  #begin(id: string, order: ImagePullOrder): FollowedPull {
    for (const [old, { isOver }] of this.#pulls)
      if (isOver && this.#pulls.size >= MOST_PULLS) this.#pulls.delete(old);
    if (this.#pulls.size >= MOST_PULLS) throw tooMany();
    const progress: FollowedPull['progress'] = new Map();
    const onProgress = (event: ImageProgress) => {
      const key = `${event.stage} ${'layer' in event ? event.layer : ''}`;
      progress.delete(key);
      progress.set(key, event);
    };
    const result = this.store.pull(order, { signal: new AbortController().signal, onProgress });
    const pull: FollowedPull = { result, progress, isOver: false };
    const ended = () => {
      pull.isOver = true;
    };
    result.then(ended, ended);
    this.#pulls.set(id, pull);
    return pull;
  }
}

function tooMany(): ServiceError {
  return new ServiceError('unavailable', 'Too many images are being pulled.', {
    remedy: 'Try again when these pulls have finished.',
    retryAfterMs: AGAIN_MS,
  });
}
