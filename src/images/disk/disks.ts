// Makes disks for the starts of this process: several starts on an image wait for one disk, which is made to the end when they
// leave, and disks are made one after another: each keeps a processor busy.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { shortImageName } from '../../domain/image-name.ts';
import { abortable, orAfter, withTimeout } from '../../domain/timeout.ts';
import type { FoundImage } from '../found-images.ts';
import type { StoreDeps } from '../image-store.ts';
import type { StoredImage } from '../store-records.ts';
import { asDiskFull } from '../unpack.ts';
import { makeDisk } from './store-disk.ts';

const MOST_WAITING = 32;
const AGAIN_MS = 10_000;

export interface DisksDeps {
  store: StoreDeps;
  /** images.pull_timeout, in ms: the most that making a disk may take. */
  timeoutMs: number;
  /** images.spawn_wait, in ms. */
  spawnWaitMs: number;
}

export class ImageDisks {
  readonly #deps: DisksDeps;
  readonly #turns: ConcurrencyLimit;
  readonly #flights = new Map<string, Promise<string[]>>();
  readonly #stop = new AbortController();

  constructor(deps: DisksDeps) {
    this.#deps = deps;
    const { clock } = deps.store;
    this.#turns = new ConcurrencyLimit(1, {
      clock,
      waiting: MOST_WAITING,
      waitMs: deps.timeoutMs,
      busy: () => stillMade(),
    });
  }

  /**
   * Makes the disk of a stored image, or joins the making of it, and resolves with what a start should report of that. Throws as
   * `makeDisk` does, `unavailable` after `images.spawn_wait`, and the reason of `signal`, after which the work continues.
   */
  async ready({ name, image }: Pick<FoundImage, 'name' | 'image'>, signal: AbortSignal): Promise<string[]> {
    const { store, spawnWaitMs } = this.#deps;
    const work = abortable(this.#join(shortImageName(name), image), signal);
    return orAfter(store.clock, spawnWaitMs, work, () => {
      throw stillMade();
    });
  }

  /** Breaks off what is being made. Idempotent. */
  async close(): Promise<void> {
    this.#stop.abort(new ServiceError('unavailable', 'The server is stopping.'));
    await Promise.allSettled(this.#flights.values());
  }

  #join(name: string, image: StoredImage): Promise<string[]> {
    this.#stop.signal.throwIfAborted();
    const known = this.#flights.get(image.chain_id);
    if (known) return known;
    const flight = this.#make(name, image).finally(() => this.#flights.delete(image.chain_id));
    // Its callers may have left.
    flight.catch(() => undefined);
    this.#flights.set(image.chain_id, flight);
    return flight;
  }

  async #make(name: string, image: StoredImage): Promise<string[]> {
    const { store, timeoutMs } = this.#deps;
    const { clock } = store;
    const stopped = this.#stop.signal;
    const timeout = { clock, ms: timeoutMs, error: tooSlow, signal: stopped };
    return this.#turns.run(async () => {
      const began = clock.monotonic();
      const lacks = await withTimeout(timeout, (signal) => makeDisk(store, image, signal)).catch(
        (error: unknown) => {
          throw asDiskFull(error);
        },
      );
      const seconds = ((clock.monotonic() - began) / 1000).toFixed(1);
      return [`The disk of image ${name} was made in ${seconds} s.`, ...lacks];
    }, stopped);
  }
}

function stillMade(): ServiceError {
  return new ServiceError('unavailable', 'The disk of the image is still being made.', {
    remedy: 'Spawn again in a moment. images.spawn_wait is how long a spawn waits for it.',
    retryAfterMs: AGAIN_MS,
  });
}

function tooSlow(): ServiceError {
  return new ServiceError(
    'unavailable',
    'Making the disk of the image took longer than images.pull_timeout.',
    {
      remedy: 'Raise images.pull_timeout, or use a smaller image.',
    },
  );
}
