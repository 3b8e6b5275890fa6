// Keeps the time of all control planes on a store one time, whatever the clocks of their machines and of the database say: it
// is the database's clock plus an offset in the store. The one with the role `upkeep` continues evenly and stores the offset that
// this takes, so a database clock that is set ends nothing early or late. The others follow it. The offset shrinks by 10 ms
// each second, so that the agreed time approaches the database's clock.
import { displayDuration } from '../../domain/duration.ts';
import type { Boot, Logger } from '../../domain/ports.ts';
import type { SteadyClock } from '../../domain/steady-clock.ts';
import type { SharedTime, TimeStore } from '../../store/seam/time.ts';
import { Periodic } from '../async/periodic.ts';
import type { Roles } from '../runtime/roles.ts';

const EVERY_MS = 1000;
/** Clocks are moved by at most so much of the time that passed. */
const SLEW = 0.01;
/** A larger difference is not slewed. */
const STEP_MS = 1000;
/** An offset that was stored longer ago, by the database's clock, may be from before that clock was set. */
const FRESH_MS = 5000;
/** A slower answer says too little about the time. */
const SLOWEST_MS = 1000;
/** A larger offset is a warning. */
const WARN_MS = 5000;

export interface SharedClockDeps {
  time: TimeStore;
  /** The clock of the control plane. */
  clock: SteadyClock;
  boot: Boot;
  roles: Pick<Roles, 'holds'>;
  /** The id of this process. */
  replica: string;
  logger: Logger;
}

export class SharedClock {
  readonly #deps: SharedClockDeps;
  readonly #looks: Periodic;
  /** When the database was read last: monotonic ms, and ms since the boot. */
  #last: { at: number; elapsedMs: number } | undefined;
  #offsetMs = 0;

  constructor(deps: SharedClockDeps) {
    this.#deps = deps;
    this.#looks = new Periodic(deps.clock, EVERY_MS, () => this.#again());
  }

  /** Resolves when this process has the agreed time. Rejects when the database cannot be read. */
  async start(): Promise<void> {
    await this.#look();
    this.#looks.startLater();
  }

  stop(): Promise<void> {
    return this.#looks.stop();
  }

  /** What an operator should know about the clocks. */
  warnings(): string[] {
    if (Math.abs(this.#offsetMs) <= WARN_MS) return [];
    const side = this.#offsetMs > 0 ? 'ahead of' : 'behind';
    const by = displayDuration(Math.abs(this.#offsetMs));
    return [
      `The time of the servers is ${by} ${side} the clock of the database, which was set. It approaches that clock by 10 ms each second.`,
    ];
  }

  async #again(): Promise<void> {
    try {
      await this.#look();
    } catch (err) {
      this.#deps.logger.debug(
        { err },
        'Could not read the time of the database; continuing evenly, and retrying.',
      );
    }
  }

  async #look(): Promise<void> {
    const { time, clock } = this.#deps;
    const before = clock.monotonic();
    const read = await time.read();
    const tookMs = clock.monotonic() - before;
    if (this.#last && tookMs > SLOWEST_MS) return;
    await this.#learn(read, before + tookMs / 2);
  }

  /** `at`: when the database read its clock, in monotonic ms. */
  async #learn({ database_ms, offset_ms, stored_ms }: SharedTime, at: number): Promise<void> {
    const { clock, roles, logger } = this.#deps;
    const passedMs = this.#passed(at);
    const agreed = database_ms + offset_ms;
    const own = () => clock.now() - (clock.monotonic() - at);
    const error = agreed - own();
    const isFresh = Math.abs(agreed - stored_ms) <= FRESH_MS;
    if (passedMs === undefined) clock.move(error);
    else if (Math.abs(error) > STEP_MS && isFresh) {
      clock.move(error);
      logger.warn(
        { step_ms: Math.round(error) },
        'The time of this server differed from that of the others; it was corrected.',
      );
    } else if (roles.holds('upkeep')) await this.#lead(database_ms, own, passedMs);
    // Otherwise the database's clock was set: whoever has the role stores another offset.
    else if (Math.abs(error) <= STEP_MS) clock.move(within(error, passedMs * SLEW));
    this.#offsetMs = own() - database_ms;
  }

  async #lead(database_ms: number, own: () => number, passedMs: number): Promise<void> {
    const { time, clock, replica } = this.#deps;
    clock.move(within(database_ms - own(), passedMs * SLEW));
    const stored_ms = own();
    await time.store({ offset_ms: stored_ms - database_ms, stored_ms }, replica);
  }

  /** The time since the last look; undefined at the first. The clock moves on by the time in which the machine slept. */
  #passed(at: number): number | undefined {
    const { boot, clock } = this.#deps;
    const [last, elapsedMs] = [this.#last, boot.elapsedMs()];
    this.#last = { at, elapsedMs };
    if (!last) return undefined;
    const passedMs = at - last.at;
    const sleptMs = elapsedMs - last.elapsedMs - passedMs;
    if (sleptMs > STEP_MS) clock.move(sleptMs);
    return passedMs;
  }
}

const within = (ms: number, most: number): number => Math.max(-most, Math.min(most, ms));
