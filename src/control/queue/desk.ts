// Admits the spawns that wait as tickets of a shared queue, for all processes. One process at a time does this, by the role
// `desk`. All that must last is in the tickets: another desk continues from them, and when two work at once, each
// ticket is still admitted once (docs/design/postgres.md#spawns-that-wait).
import { type AdmissionDecision, isCapacityDenial } from '../../domain/admission.ts';
import { asServiceError } from '../../domain/errors.ts';
import {
  FairQueue,
  type MissingCapacity,
  type QueueEntry,
  roomOf,
  type Waiting,
} from '../../domain/fair-queue.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { OwnerLimits } from '../../domain/quota.ts';
import type { OwnerLack, Ticket, TicketEnd, TicketStore, WaitingTicket } from '../../store/seam/tickets.ts';
import { Periodic } from '../async/periodic.ts';
import type { LimitsOf } from '../records/settings.ts';
import { isStoppedHome } from './left-tickets.ts';
import { admissionRefused, errorJson } from './refusals.ts';
import { lackOf } from './ticket.ts';

const EVERY_MS = 1000;
/** A number below the highest one seen may still become visible: whoever took it has not committed. */
const LATE_NUMBERS = 1000;
/** All tickets are compared this often: some may have been removed. */
const COMPARE_MS = 10_000;
/** How long tickets with a key of a dead process keep their position. */
const KEPT_MS = 60_000;
/** The number of owners at their own limit that one retry tries. */
const RETRIED_OWNERS = 32;

/** The outcome of an attempt for a ticket. */
export type TicketAttempt =
  | { kind: 'admitted'; sandbox_id: string; turn: number | undefined }
  | { kind: 'denied'; decision: AdmissionDecision }
  /** The key has been used by another spawn. */
  | { kind: 'replayed'; sandbox_id: string }
  /** The ticket has ended, or has another home. */
  | { kind: 'no_ticket' };

export interface DeskDeps {
  tickets: TicketStore;
  /** Whether this process has the role. */
  holds(): boolean;
  /** Whether a process may be at work under the id. */
  isAlive(replica: string): boolean;
  /** The id of this process. */
  replica: string;
  limitsOf: LimitsOf;
  attempt(ticket: Ticket, limits: OwnerLimits): Promise<TicketAttempt>;
  /** A ticket has ended. Without `end` its home looks how. */
  ended(ticket: { id: string; home: string }, end?: TicketEnd): void;
  clock: Clock;
  logger: Logger;
}

interface Entry extends Waiting {
  id: string;
  seq: number;
  home: string;
}

export class Desk {
  readonly #deps: DeskDeps;
  readonly #ticks: Periodic;
  #fair = new FairQueue<Entry>();
  /** `place` is absent while the home is dead: the ticket keeps its position without being tried. */
  #known = new Map<string, { entry: Entry; place: QueueEntry<Entry> | undefined }>();
  /** Dead homes, by the monotonic time of their first sight. */
  readonly #dead = new Map<string, number>();
  readonly #lacks = new Map<string, string>();
  #last = 0;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #frees = 0;
  #mustRead = false;
  #mustWork = false;
  #working: Promise<void> | undefined;
  #isOpen = false;

  constructor(deps: DeskDeps) {
    this.#deps = deps;
    this.#ticks = new Periodic(deps.clock, EVERY_MS, () => this.#tick());
  }

  start(): void {
    this.#ticks.startLater();
  }

  async stop(): Promise<void> {
    this.close();
    await this.#ticks.stop();
    await this.#working;
  }

  /** This process has got the role. */
  open(): void {
    this.#isOpen = true;
    this.#forget();
    this.changed();
  }

  /** This process has lost the role. */
  close(): void {
    this.#isOpen = false;
    this.#forget();
  }

  /** Tickets were added, or have another home. */
  changed(): void {
    this.#mustRead = true;
    this.#work();
  }

  freed(facts: { owner: string; provider: string }): void {
    this.#free(() => this.#fair.freed(facts));
  }

  /** Capacity may have become free anywhere. Some of the owners that wait for their own are tried. */
  retry(): void {
    this.#free(() => this.#fair.retry(RETRIED_OWNERS));
  }

  release(owner: string): void {
    this.#free(() => this.#fair.release(owner));
  }

  releaseAll(): void {
    this.#free(() => this.#fair.releaseAll());
  }

  #free(how: () => void): void {
    this.#frees++;
    how();
    this.#work();
  }

  #forget(): void {
    this.#fair = new FairQueue();
    this.#known = new Map();
    this.#dead.clear();
    this.#lacks.clear();
    this.#last = 0;
    this.#comparedAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether this process may admit spawns now. */
  get isActive(): boolean {
    return this.#isOpen && this.#deps.holds();
  }

  async #tick(): Promise<void> {
    if (!this.isActive) return;
    await this.#sweep();
    await this.#working;
  }

  #work(): void {
    if (!this.isActive) return;
    this.#mustWork = true;
    this.#working ??= this.#run().finally(() => {
      this.#working = undefined;
      if (this.#mustWork) this.#work();
    });
  }

  /** Tries tickets in turn until none is known to fit. Never rejects: the next second tries again. */
  async #run(): Promise<void> {
    this.#mustWork = false;
    try {
      while (this.isActive) {
        if (this.#mustRead) await this.#read();
        const place = this.isActive ? this.#fair.next() : undefined;
        if (!place) return;
        await this.#try(place);
      }
    } catch (err) {
      this.#deps.logger.debug({ err }, 'Could not admit spawns that wait; retrying.');
    }
  }

  async #read(): Promise<void> {
    const { tickets, clock } = this.#deps;
    const now = clock.monotonic();
    const isAll = now - this.#comparedAt >= COMPARE_MS || this.#dead.size > 0;
    this.#mustRead = false;
    const fair = this.#fair;
    const listed = await tickets.waiting(isAll ? 0 : Math.max(0, this.#last - LATE_NUMBERS));
    // The role was lost meanwhile.
    if (fair !== this.#fair) return;
    if (isAll) {
      this.#comparedAt = now;
      const ids = new Set(listed.map(({ id }) => id));
      for (const id of [...this.#known.keys()]) if (!ids.has(id)) this.#drop(id);
    }
    for (const ticket of listed) this.#learn(ticket, isAll);
  }

  #learn({ id, seq, turn, owner_id: owner, provider, demand, home }: WaitingTicket, isAll: boolean): void {
    this.#last = Math.max(this.#last, seq);
    const known = this.#known.get(id);
    const isBack = known !== undefined && !known.place && this.#isHomeAlive(home);
    if (known?.entry.home !== home || isBack) {
      this.#drop(id);
      const entry = { id, seq, home, owner, provider, demand };
      const place = this.#isHomeAlive(home) ? this.#fair.insert(entry, turn) : undefined;
      this.#known.set(id, { entry, place });
    } else if (isAll) this.#fair.setTurn(owner, turn);
  }

  #drop(id: string): void {
    const place = this.#known.get(id)?.place;
    if (place) this.#fair.remove(place);
    this.#known.delete(id);
  }

  async #try(place: QueueEntry<Entry>): Promise<void> {
    const { id, owner, home } = place.item;
    if (!this.#isHomeAlive(home)) return this.#park(place);
    const { tickets, limitsOf, attempt, ended } = this.#deps;
    const [frees, fair] = [this.#frees, this.#fair];
    const [ticket, limits] = await Promise.all([tickets.get(id), limitsOf(owner === '' ? undefined : owner)]);
    if (ticket?.end || ticket?.home !== home) return this.#stale(id);
    const tried = await attempt(ticket, limits).catch(
      (error: unknown): TicketAttempt | { kind: 'failed'; error: unknown } => {
        // The store did not answer: the attempt is repeated.
        if (asServiceError(error).code === 'unavailable') throw error;
        return { kind: 'failed', error };
      },
    );
    if (fair !== this.#fair) return;
    if (tried.kind === 'no_ticket') return this.#stale(id);
    if (tried.kind === 'admitted') {
      this.#known.delete(id);
      this.#lacks.delete(owner);
      this.#fair.served(place, tried.turn);
      ended({ id, home }, { kind: 'admitted', sandbox_id: tried.sandbox_id });
    } else if (tried.kind === 'denied' && isCapacityDenial(tried.decision)) {
      // Capacity that was freed meanwhile may have come too late for this attempt, so it gets another.
      if (this.#frees === frees) await this.#hold(place, lackOf(tried.decision));
    } else {
      await tickets.end(id, home, endOf(tried));
      this.#drop(id);
      ended({ id, home });
    }
  }

  /** Others must know why the owner waits, so that new spawns need not wait behind it. */
  async #hold(place: QueueEntry<Entry>, missing: MissingCapacity): Promise<void> {
    const { item } = place;
    this.#fair.hold(place, missing);
    const lack: OwnerLack | undefined =
      missing === 'owner' ? missing : missing === 'provider' ? { room: roomOf(item) } : undefined;
    const text = lack === undefined ? '' : JSON.stringify(lack);
    if ((this.#lacks.get(item.owner) ?? '') === text) return;
    await this.#deps.tickets.lacks(item.owner, lack);
    this.#lacks.set(item.owner, text);
  }

  /** The ticket is not as it was read. */
  #stale(id: string): void {
    this.#drop(id);
    this.#comparedAt = Number.NEGATIVE_INFINITY;
    this.#mustRead = true;
  }

  #park(place: QueueEntry<Entry>): void {
    this.#fair.remove(place);
    this.#known.set(place.item.id, { entry: place.item, place: undefined });
  }

  #isHomeAlive(home: string): boolean {
    const { replica, isAlive } = this.#deps;
    if (home === replica || isStoppedHome(home)) return home === replica;
    return isAlive(home);
  }

  /** Deletes the tickets of dead processes: those with a key after a time in which a repeated request adopts them. */
  async #sweep(): Promise<void> {
    const { tickets, clock, logger } = this.#deps;
    try {
      const now = clock.monotonic();
      const silent = (await tickets.homes()).filter((home) => !this.#isHomeAlive(home));
      for (const home of this.#dead.keys()) if (!silent.includes(home)) this.#dead.delete(home);
      for (const home of silent) if (!this.#dead.has(home)) this.#dead.set(home, now);
      const lost = silent.filter((home) => now - (this.#dead.get(home) ?? now) >= KEPT_MS);
      if (silent.length > 0 || now - this.#comparedAt >= COMPARE_MS) await tickets.sweep({ silent, lost });
    } catch (err) {
      logger.debug({ err }, 'Could not delete the spawns that waited at dead servers; retrying.');
    }
  }
}

function endOf(
  tried: Exclude<TicketAttempt, { kind: 'admitted' | 'no_ticket' }> | { kind: 'failed'; error: unknown },
) {
  if (tried.kind === 'replayed') return { kind: 'admitted', sandbox_id: tried.sandbox_id } as const;
  const error = tried.kind === 'failed' ? tried.error : admissionRefused(tried.decision);
  return { kind: 'refused', error: errorJson(error) } as const;
}
