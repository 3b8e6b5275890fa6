// Repeats work until `stop`. The next run starts a fixed time after the last one settled, so that runs never overlap.
import type { Clock, Timer } from '../../domain/ports.ts';

export class Periodic {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #everyMs: number;
  readonly #work: () => Promise<void>;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  /** `work` must not reject. */
  constructor(clock: Pick<Clock, 'after'>, everyMs: number, work: () => Promise<void>) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#work = work;
  }

  /** Resolves after the first run. */
  start(): Promise<void> {
    this.#timer?.cancel();
    this.#running = this.#work().finally(() => this.startLater());
    return this.#running;
  }

  /** The first run comes after the interval. */
  startLater(): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#clock.after(this.#everyMs, () => void this.start());
  }

  /** Does not wait for the interval, only for the current run. */
  startSoon(): void {
    void this.#running.then(() => {
      if (!this.#stopped) void this.start();
    });
  }

  /** Resolves when the current run has settled. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }
}
