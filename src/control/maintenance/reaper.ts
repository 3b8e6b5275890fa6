// Ends expired sandboxes with one timer, set for the nearest deadline and reset when a deadline is written. It only
// marks rows; the destroyer does the slow part, so a provider that hangs delays no other sandbox. Of several control planes on
// a store only one reaps; it looks every second, since the others write deadlines too.
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { Roles } from '../runtime/roles.ts';

const CHUNK = 100;
/** The longest sleep: after suspend or a slewed clock, deadlines are nearer than timers know. */
const LONGEST_SLEEP_MS = 60_000;
const LONGEST_SHARED_SLEEP_MS = 1000;
const AFTER_FAILURE_MS = 1000;

export interface ReaperDeps {
  sandboxes: Pick<SandboxStore, 'due' | 'nextDeadline'>;
  destroyer: Destroyer;
  roles: Pick<Roles, 'holds' | 'areShared'>;
  clock: Clock;
  logger: Logger;
}

export class Reaper {
  readonly #deps: ReaperDeps;
  #timer: Timer | undefined;
  #started = false;
  #running = false;
  #reaping: Promise<void> = Promise.resolve();
  /** A deadline may have passed or been written since the last look. */
  #again = false;

  constructor(deps: ReaperDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  /** Looks now. Call this after writing a deadline that may be the nearest. */
  wake(): void {
    this.#again = true;
    if (this.#started && !this.#running) this.#reaping = this.#run();
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#timer?.cancel();
    await this.#reaping;
  }

  /** Must not wait between the last check of `#again` and the end: a call of `wake` in between would be lost. */
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

  /** Marks due sandboxes and returns how long to sleep. Never rejects. */
  async #look(): Promise<number> {
    const longestMs = this.#deps.roles.areShared ? LONGEST_SHARED_SLEEP_MS : LONGEST_SLEEP_MS;
    try {
      if (!this.#deps.roles.holds('upkeep')) return longestMs;
      await this.#reap();
      return Math.min(longestMs, await this.#untilNext());
    } catch (error) {
      this.#deps.logger.error({ err: error }, 'Could not end expired sandboxes; retrying.');
      return AFTER_FAILURE_MS;
    }
  }

  async #reap(): Promise<void> {
    const { sandboxes, destroyer, roles, clock } = this.#deps;
    for (let full = true; full && this.#started; ) {
      const due = await sandboxes.due(new Date(clock.now()).toISOString(), CHUNK);
      full = due.length === CHUNK;
      for (const { id } of due) {
        if (!roles.holds('upkeep')) return;
        const marked = await destroyer.mark(id, 'expired');
        if (marked) destroyer.finishLater(marked);
      }
    }
  }

  async #untilNext(): Promise<number> {
    const next = await this.#deps.sandboxes.nextDeadline();
    if (next === undefined) return LONGEST_SLEEP_MS;
    return Math.max(0, Date.parse(next) - this.#deps.clock.now());
  }
}
