// Tickets of this process that may be in the store although nobody waits for them: a call about them got no answer, or they have
// ended and are forgotten at the next reading.
import type { Clock } from '../../domain/ports.ts';
import type { HomeTicket, Ticket } from '../../store/seam/tickets.ts';

/** A write that got no answer has happened by then, or never happens. */
const LATEST_MS = 15_000;
const MOST = 10_000;

/** Prefix of the home of tickets whose process has stopped: they keep their position for a repeated request. */
const STOPPED = 'stopped:';

export const stoppedHome = (replica: string): string => `${STOPPED}${replica}`;
export const isStoppedHome = (home: string): boolean => home.startsWith(STOPPED);

export class LeftTickets {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #unwanted: (sandbox_id: string) => void;
  /** Before this time (monotonic ms) such a ticket may appear. Undefined: a later reading found none. */
  #until: number | undefined;
  /** Those whose callers got a failure and cannot ask again. */
  readonly #refused = new Set<string>();

  /** `unwanted` ends a sandbox that was admitted for such a caller. */
  constructor(clock: Pick<Clock, 'monotonic'>, unwanted: (sandbox_id: string) => void) {
    this.#clock = clock;
    this.#unwanted = unwanted;
  }

  get mayAppear(): boolean {
    return this.#until !== undefined;
  }

  /** The home reads its tickets for a while, also without waiters. */
  watch(): void {
    this.#until = this.#clock.monotonic() + LATEST_MS;
  }

  /** The store did not say whether it has the ticket, so its caller gets a failure. */
  unanswered({ id, claim }: Ticket): void {
    this.watch();
    if (!claim && this.#refused.size < MOST) this.#refused.add(id);
  }

  /** A reading found a ticket that has ended and that nobody waits for. One with a prewarmed sandbox runs already. */
  ended({ id, end }: HomeTicket): void {
    if (this.#refused.delete(id) && end?.kind === 'admitted') this.#unwanted(end.sandbox_id);
  }

  /** A reading that began at `since` (monotonic ms) has dealt with all it found. */
  wereRead(since: number): void {
    if (this.#until === undefined || since < this.#until) return;
    this.#until = undefined;
    this.#refused.clear();
  }
}
