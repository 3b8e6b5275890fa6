// Keeps deadlines independent of changes of the wall clock within one boot: when the clock is set, stored deadlines move by
// the same step before the steady clock follows it (domain/steady-clock.ts). A clock that is slewed is followed. The mark in
// the database lets a server that restarts within the boot find out what happened meanwhile; after another boot only the wall
// clock is left to trust.
//
// Not moved: rate limits, queues and the ends of leases in memory, which use monotonic time; prewarmed sandboxes, which have
// no deadline; ended rows, events and the audit, which keep the dates that they show. Signed preview links name a date that
// cannot be changed: they end early or late, never after their sandbox.
import type { Boot, Clock, Logger } from '../../domain/ports.ts';
import type { SteadyClock } from '../../domain/steady-clock.ts';
import type { ClockMark, ClockStore } from '../../store/seam/clock.ts';
import { Periodic } from '../async/periodic.ts';

const EVERY_MS = 5000;
/** A larger difference between two looks is a step; a smaller one is slewing or measurement error. */
const STEP_MS = 2000;
/** The mark is written again after this much slewing, so that slewing never adds up to a step for the next start. */
const DRIFT_MS = 500;

export interface ClockWatchDeps {
  store: { clock: ClockStore };
  /** The clock of the control plane. */
  clock: SteadyClock;
  /** The clock of the machine. */
  wall: Pick<Clock, 'now'>;
  boot: Boot;
  /** Called after deadlines were shifted. */
  deadlineSet: () => void;
  logger: Logger;
}

export class ClockWatch {
  readonly #deps: ClockWatchDeps;
  readonly #looks: Periodic;
  #marked: ClockMark | undefined;
  /** The distance between both clocks at the last look. */
  #distance: number | undefined;

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps;
    this.#looks = new Periodic(deps.clock, EVERY_MS, () => this.#look());
  }

  /** Resolves after the first look, which has to come before anything is ended by a stored deadline. Never rejects. */
  start(): Promise<void> {
    return this.#looks.start();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** None: the clock of the machine is followed. */
  warnings(): string[] {
    return [];
  }

  async #look(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    try {
      this.#marked ??= await store.clock.mark();
      const [before, distance] = [this.#before(), this.#read()];
      const step = before === undefined ? 0 : distance - before;
      if (Math.abs(step) > STEP_MS) await this.#step(step, distance);
      else if (this.#isNews(distance)) await this.#mark(distance, 0);
      this.#distance = distance;
      clock.follow();
    } catch (err) {
      // The mark may have been written although the call failed, so the next turn reads it. Until then the clock does
      // not follow.
      this.#marked = undefined;
      this.#distance = undefined;
      logger.warn({ err }, 'Could not store the clock mark; retrying.');
    }
  }

  async #step(step_ms: number, distance: number): Promise<void> {
    const moved = await this.#mark(distance, step_ms);
    // In the same turn as the answer: a shifted deadline is never compared with the old time.
    this.#deps.clock.follow();
    this.#deps.logger.warn(
      { step_ms, moved },
      'The wall clock was set; deadlines were shifted by the same amount.',
    );
    this.#deps.deadlineSet();
  }

  async #mark(distance_ms: number, shift_ms: number) {
    const mark = { boot_id: this.#deps.boot.id, distance_ms };
    const moved = await this.#deps.store.clock.set(mark, shift_ms);
    this.#marked = mark;
    return moved;
  }

  /** The distance to compare with: that of the last look, or of an earlier process of this boot. */
  #before(): number | undefined {
    if (this.#distance !== undefined) return this.#distance;
    return this.#marked?.boot_id === this.#deps.boot.id ? this.#marked.distance_ms : undefined;
  }

  #isNews(distance: number): boolean {
    const { boot_id, distance_ms = 0 } = this.#marked ?? {};
    return boot_id !== this.#deps.boot.id || Math.abs(distance - distance_ms) > DRIFT_MS;
  }

  #read(): number {
    return Math.round(this.#deps.wall.now() - this.#deps.boot.elapsedMs());
  }
}
