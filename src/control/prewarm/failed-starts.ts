// Failed starts by shape, and how long the next one waits: longer after each failure.
import type { Clock } from '../../domain/ports.ts';

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Capacity changes without notification. */
const NO_ROOM_RETRY_MS = 5000;

export class FailedStarts {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #shapes = new Map<string, { attempts: number; until: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** How long no start of this shape may begin, in ms; at most 0: it may. */
  waitMs(shape: string): number {
    return (this.#shapes.get(shape)?.until ?? 0) - this.#clock.monotonic();
  }

  started(shape: string): void {
    this.#shapes.delete(shape);
  }

  /** Whether the failure counts: starts that run at the same time fail together, and that counts once. */
  failed(shape: string, isFull: boolean): boolean {
    if (this.waitMs(shape) > 0) return false;
    const attempts = (this.#shapes.get(shape)?.attempts ?? 0) + 1;
    const ms = isFull ? NO_ROOM_RETRY_MS : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1));
    this.#shapes.set(shape, { attempts, until: this.#clock.monotonic() + ms });
    return true;
  }
}
