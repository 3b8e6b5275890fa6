// Ends sandboxes whose time is over: ONE timer, set for the nearest deadline, re-set when a deadline is written. It only
// marks rows; the slow part runs in the destroyer's pool, so a provider that hangs holds up nobody else's end.
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Destroyer } from '../runtime/destroy.ts';

const CHUNK = 100;
/** Looks at least this often: a machine that slept, or a clock that was slewed, has come nearer to deadlines than timers know. */
const LONGEST_SLEEP_MS = 60_000;
const AFTER_FAILURE_MS = 1000;

export interface ReaperDeps {
  sandboxes: Pick<SandboxStore, 'due' | 'nextDeadline'>;
  destroyer: Destroyer;
  clock: Clock;
  logger: Logger;
}

export class Reaper {
  readonly #deps: ReaperDeps;
  #timer: Timer | undefined;
  #started = false;
  #running = false;
  #reaping: Promise<void> = Promise.resolve();
  /** Something may have come due, or a deadline been set, since the last look. */
  #again = false;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  /** Looks now. To be called when a deadline was written that may be the nearest. */
  wake(): void {
    this.#again = true;
    if (this.#started && !this.#running) this.#reaping = this.#run();
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    await this.#reaping;
  }

  /** Nothing may wait between the last look at `#again` and the end: a call to `wake` in between would be lost. */
  async #run(): Promise<void> {
    this.#running = true;
    let sleepMs = 0;
    while (this.#again && this.#started) {
      this.#again = false;
      this.#timer?.cancel();
      sleepMs = await this.#look();
    }
    if (this.#started) this.#timer = this.#deps.clock.after(sleepMs, () => this.wake());
    this.#running = false;
  }

  /** Marks what is due; how long to sleep after it. Never rejects. */
  async #look(): Promise<number> {
    try {
      await this.#reap();
      return await this.#untilNext();
    } catch (error) {
      this.#deps.logger.error({ err: error }, 'Could not end expired sandboxes; retrying.');
      return AFTER_FAILURE_MS;
    }
  }

  async #reap(): Promise<void> {
    const { sandboxes, destroyer, clock } = this.#deps;
    for (let full = true; full && this.#started; ) {
      const due = await sandboxes.due(new Date(clock.now()).toISOString(), CHUNK);
      full = due.length === CHUNK;
      for (const { id } of due) {
        const marked = await destroyer.mark(id, 'expired');
        if (marked) destroyer.finishLater(marked);
      }
    }
  }

  async #untilNext(): Promise<number> {
    const next = await this.#deps.sandboxes.nextDeadline();
    if (next === undefined) return LONGEST_SLEEP_MS;
    return Math.min(LONGEST_SLEEP_MS, Math.max(0, Date.parse(next) - this.#deps.clock.now()));
  }
}
