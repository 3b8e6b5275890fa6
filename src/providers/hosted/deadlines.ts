// The deadlines of detached commands. The backend keeps none, and one that has come is not over with one attempt: the
// sandbox may not answer just then, so the command is ended again and again until it is known to have ended.
import type { Clock, Timer } from '../../domain/ports.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** About an hour of attempts: a sandbox that never answers is given up by others before that. */
const MOST_ATTEMPTS = 64;

/** Attempts to end a command: true once there is nothing left to end. A rejection is one more attempt later. */
export type EndCommand = (exec_id: string) => Promise<boolean>;

export class Deadlines {
  readonly #clock: Clock;
  readonly #end: EndCommand;
  readonly #timers = new Map<string, Timer>();
  #isClosed = false;

  constructor(clock: Clock, end: EndCommand) {
    this.#clock = clock;
    this.#end = end;
  }

  /** `at` is in milliseconds since 1970. One that is kept already stays as it is. */
  keep(exec_id: string, at: number): void {
    if (!this.#timers.has(exec_id)) this.#later(exec_id, Math.max(0, at - this.#clock.now()), 0);
  }

  drop(exec_id: string): void {
    this.#timers.get(exec_id)?.cancel();
    this.#timers.delete(exec_id);
  }

  /** Ends the watch over all of them, and over those that come. */
  close(): void {
    this.#isClosed = true;
    for (const exec_id of this.#timers.keys()) this.drop(exec_id);
  }

  #later(exec_id: string, ms: number, attempts: number): void {
    if (this.#isClosed) return;
    this.#timers.set(
      exec_id,
      this.#clock.after(ms, () => void this.#expire(exec_id, attempts)),
    );
  }

  async #expire(exec_id: string, attempts: number): Promise<void> {
    const timer = this.#timers.get(exec_id);
    const isOver = await this.#end(exec_id).catch(() => false);
    // It may have been dropped meanwhile.
    if (this.#timers.get(exec_id) !== timer) return;
    if (isOver || attempts + 1 >= MOST_ATTEMPTS) return this.drop(exec_id);
    this.#later(exec_id, Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS), attempts + 1);
  }
}
