// Keeps the time of all control planes on a store one time, whatever the clocks of their machines and of the database say: it
// is the database's clock plus an offset in the store. The one with the role `upkeep` continues evenly and stores the offset that
// this takes, so a database clock that is set ends nothing early or late. The others follow it. The offset shrinks by 10 ms
// each second, so that the agreed time approaches the database's clock. A process that starts when the database's clock has just
// been set waits until another one has stored the new offset.
import { displayDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
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
/** A process that starts waits so long for a beat of another one, */
const ALONE_AFTER_MS = 2500;
/** and at most so long for an offset that is not old: the longest that the role is without a holder, and more. */
const PATIENCE_MS = 60_000;
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
  readonly #stop = new AbortController();

  constructor(deps: SharedClockDeps) {
    this.#deps = deps;
    this.#looks = new Periodic(deps.clock, EVERY_MS, () => this.#again());
  }

  /** Resolves when this process has the agreed time. Rejects when the database cannot be read, and when it is stopped. */
  async start(): Promise<void> {
    await this.#adopt();
    this.#looks.startLater();
  }

  stop(): Promise<void> {
    this.#stop.abort(new ServiceError('unavailable', 'This server stops.'));
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

  /**
   * The first look. An old offset is waited out while another process lives that may store a new one; then it throws `unavailable`,
   * since a wrong time would end sandboxes early.
   */
  async #adopt(): Promise<void> {
    const { clock } = this.#deps;
    const since = clock.monotonic();
    let sign = { beats: 0, at: since };
    for (;;) {
      const { shared, at } = await this.#read();
      if (shared.beats !== sign.beats) sign = { beats: shared.beats, at };
      const isKnown = shared.stored_ms === 0 || isFresh(shared);
      const isAlone = shared.beats === 0 || at - sign.at >= ALONE_AFTER_MS;
      if (isKnown || isAlone) return this.#learn(shared, at);
      if (at - since >= PATIENCE_MS) throw unknownTime();
      await clock.sleep(EVERY_MS, this.#stop.signal);
    }
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
    const { shared, at, tookMs } = await this.#read();
    if (tookMs <= SLOWEST_MS) await this.#learn(shared, at);
  }

  /** `at`: when the database read its clock, in monotonic ms. */
  async #read(): Promise<{ shared: SharedTime; at: number; tookMs: number }> {
    const { time, clock } = this.#deps;
    const before = clock.monotonic();
    const shared = await time.read();
    const tookMs = clock.monotonic() - before;
    return { shared, at: before + tookMs / 2, tookMs };
  }

  async #learn(shared: SharedTime, at: number): Promise<void> {
    const { clock, roles, logger } = this.#deps;
    const { database_ms, stored_ms } = shared;
    const passedMs = this.#passed(at);
    const own = () => clock.now() - (clock.monotonic() - at);
    const error = agreed(shared) - own();
    // The agreed time is never before one that was stored.
    if (passedMs === undefined) clock.move(Math.max(error, stored_ms - own()));
    else if (Math.abs(error) > STEP_MS && isFresh(shared)) {
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

const unknownTime = () =>
  new ServiceError(
    'unavailable',
    'The clock of the database was set, and no other server has stored the time that holds now.',
    { remedy: 'Look at the logs of the other servers, and start this one again.' },
  );

const agreed = ({ database_ms, offset_ms }: SharedTime): number => database_ms + offset_ms;

const isFresh = (shared: SharedTime): boolean => Math.abs(agreed(shared) - shared.stored_ms) <= FRESH_MS;

const within = (ms: number, most: number): number => Math.max(-most, Math.min(most, ms));
