// The size of the image store for metrics. The store may lie on a mount that hangs: it is read once at a time, and a scrape does not
// wait long for it.
import type { ImageSizes, OwnImages } from '../../domain/machine-images.ts';
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';

const WAIT_MS = 1000;
/** Reading opens a file for each layer. */
const KEPT_MS = 30_000;

export class ImageSizeReader {
  readonly #images: Pick<OwnImages, 'sizes'> | undefined;
  readonly #clock: Clock;
  #reading: { at: number; sizes: Promise<ImageSizes | undefined>; isOver: boolean } | undefined;

  constructor(images: Pick<OwnImages, 'sizes'> | undefined, clock: Clock) {
    this.#images = images;
    this.#clock = clock;
  }

  /** Undefined without a store, and while it does not answer. At most 30 s old. */
  async read(): Promise<ImageSizes | undefined> {
    if (!this.#images) return undefined;
    const now = this.#clock.monotonic();
    const last = this.#reading;
    const sizes = last && (!last.isOver || now - last.at < KEPT_MS) ? last.sizes : this.#begin(this.#images);
    return orAfter(this.#clock, WAIT_MS, sizes, () => undefined);
  }

  #begin(images: Pick<OwnImages, 'sizes'>): Promise<ImageSizes | undefined> {
    const sizes = images.sizes().catch(() => undefined);
    const reading = { at: this.#clock.monotonic(), sizes, isOver: false };
    this.#reading = reading;
    void sizes.then(() => {
      reading.isOver = true;
    });
    return sizes;
  }
}
