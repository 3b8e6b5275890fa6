// Deadlines of detached commands, which the backend does not keep. A sandbox may be unreachable when a deadline expires, so
// killing the command is retried until it is known to have ended.
import type { Clock, Timer } from '../../domain/ports.ts';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** About an hour of attempts: an unreachable sandbox is declared lost before that. */
const MOST_ATTEMPTS = 64;

/** Tries to kill a command; true once the command has ended. A rejection is retried later. */
type EndCommand = (exec_id: string) => Promise<boolean>;

export class Deadlines {
  readonly #clock: Clock;
  readonly #end: EndCommand;
  readonly #timers = new Map<string, Timer>();
  #isClosed = false;

  constructor(clock: Clock, end: EndCommand) {
    this.#clock = clock;
    this.#end = end;
  }

  /** `at` is in milliseconds since 1970. A deadline that is already set stays. */
  keep(exec_id: string, at: number): void {
    if (!this.#timers.has(exec_id)) this.#later(exec_id, Math.max(0, at - this.#clock.now()), 0);
  }

  drop(exec_id: string): void {
    this.#timers.get(exec_id)?.cancel();
    this.#timers.delete(exec_id);
  }

  /** Cancels all deadlines and ignores later ones. */
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
    // The deadline may have been dropped in the meantime.
    if (this.#timers.get(exec_id) !== timer) return;
    if (isOver || attempts + 1 >= MOST_ATTEMPTS) return this.drop(exec_id);
    this.#later(exec_id, Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS), attempts + 1);
  }
}
