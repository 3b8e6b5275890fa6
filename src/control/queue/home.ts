// The spawns of this process that wait as tickets of a shared queue. It holds their requests: they end with the ticket, when
// the client disconnects, or when the wait is over (docs/design/postgres.md#spawns-that-wait).
import type { Abort } from '../../domain/abort.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { HomeTicket, Ticket, TicketEnd, TicketStore } from '../../store/seam/tickets.ts';
import type { Publisher } from '../records/publish.ts';
import { QueueCounter } from './counter.ts';
import { LeftTickets, stoppedHome } from './left-tickets.ts';
import {
  crowdedOut,
  errorFromJson,
  keyEnded,
  positionLost,
  queueFull,
  stopping,
  waitedTooLong,
} from './refusals.ts';
import type { StoredApplicant } from './ticket.ts';
import { type Wait, Waits } from './waits.ts';

export interface HomeDeps {
  tickets: TicketStore;
  /** The id of this process. */
  replica: string;
  publisher: Pick<Publisher, 'note'>;
  clock: Clock;
  logger: Logger;
  /** The most spawns that wait, of all processes. */
  most: number;
  /** The longest wait. */
  limitMs: number;
  /** Tickets were added or have another home. */
  changed(): void;
  /** A ticket of any home has ended. */
  ended(ticket: { id: string; home: string }): void;
  /** A sandbox was admitted for a caller who got a failure. It is ended. */
  unwanted(sandbox_id: string): void;
}

interface Waiter {
  ticket: Ticket;
  applicant: StoredApplicant<unknown>;
  wait: Wait<Waiter> | undefined;
  /** Monotonic ms: when the store had the ticket. */
  addedAt: number;
  isOver: boolean;
  resolve(admitted: unknown): void;
  reject(error: unknown): void;
}

export class TicketHome {
  readonly #deps: HomeDeps;
  readonly #waiters = new Map<string, Waiter>();
  readonly #waits: Waits<Waiter>;
  #looking: Promise<void> | undefined;
  readonly counter: QueueCounter;
  /** Inserts run one after the other: the bound of the queue and the order of an owner depend on it. */
  #adding: Promise<unknown> = Promise.resolve();
  #toAdd = 0;
  readonly #left: LeftTickets;
  #closed = false;

  constructor(deps: HomeDeps) {
    this.#deps = deps;
    this.counter = new QueueCounter(deps.publisher);
    const { clock, limitMs } = deps;
    this.#left = new LeftTickets(clock, deps.unwanted);
    this.#waits = new Waits({ clock, limitMs, expired: (waiter) => void this.#expire(waiter) });
  }

  /** Waits with a new ticket. Rejects as `SpawnQueue.admit` does. */
  async enter<T>(applicant: StoredApplicant<T>, reason: string, signal?: Abort): Promise<T> {
    const { replica, most, clock } = this.#deps;
    if (this.#toAdd >= most) throw queueFull(most);
    signal?.throwIfAborted();
    const ticket = { ...applicant.ticket(), home: replica };
    const hold = applicant.hold(ticket.id);
    try {
      const depth = await this.#add(ticket);
      if (depth === undefined) {
        hold.release();
        const adopted = await this.adopt(applicant, signal);
        if (adopted) return await adopted.result;
        throw keyEnded();
      }
      this.counter.queued(applicant, { depth, reason });
      const result = this.#wait<T>(ticket, applicant, clock.monotonic(), signal);
      this.#deps.changed();
      return await result;
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  /** Waits with the ticket of an earlier request with the same key, in its position; undefined if there is none. */
  async adopt<T>(
    applicant: StoredApplicant<T>,
    signal: Abort | undefined,
  ): Promise<{ result: Promise<T> } | undefined> {
    const { claim } = applicant.ticket();
    if (!claim) return undefined;
    const adopted = await this.#deps.tickets.adopt(claim, this.#deps.replica);
    if (!adopted) return undefined;
    if (adopted.kind === 'other_request') throw applicant.otherRequest();
    const hold = applicant.hold(adopted.ticket.id);
    const addedAt = this.#deps.clock.monotonic();
    const result = this.#wait<T>(adopted.ticket, applicant, addedAt, signal).catch((error: unknown) => {
      hold.release();
      throw error;
    });
    this.#deps.changed();
    return { result };
  }

  /** Reads how tickets ended. Call it each second. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { tickets, replica, clock, logger } = this.#deps;
    const since = clock.monotonic();
    if (this.#waiters.size === 0 && !this.#left.mayAppear) return;
    try {
      const listed = new Map((await tickets.ofHome(replica)).map((ticket) => [ticket.id, ticket]));
      for (const [id, waiter] of [...this.#waiters]) {
        const ticket = listed.get(id);
        if (ticket?.end) this.#finish(waiter, ticket.end);
        else if (!ticket && waiter.addedAt < since) this.#settle(waiter, () => waiter.reject(positionLost()));
      }
      await this.#tidy([...listed.values()]);
      if (this.#toAdd === 0) this.#left.wereRead(since);
    } catch (err) {
      logger.debug({ err }, 'Could not read the spawns that wait; retrying.');
    }
  }

  /** The ticket of this home was admitted. */
  admitted(id: string, sandbox_id: string): void {
    const waiter = this.#waiters.get(id);
    if (waiter) this.#finish(waiter, { kind: 'admitted', sandbox_id });
  }

  /** The ticket has probably ended. Never rejects. */
  async lookAt(id: string): Promise<void> {
    const { tickets, replica, logger } = this.#deps;
    const waiter = this.#waiters.get(id);
    if (!waiter) return;
    try {
      const ticket = await tickets.get(id);
      if (ticket?.end && ticket.home === replica) this.#finish(waiter, ticket.end);
    } catch (err) {
      logger.debug({ err }, 'Could not read a spawn that waits; retrying.');
    }
  }

  /** Refuses all. Tickets with a key keep their position for a while: the client may ask another process. */
  async close(): Promise<void> {
    this.#closed = true;
    const waiters = [...this.#waiters.values()];
    for (const waiter of waiters) this.#settle(waiter, () => waiter.reject(stopping()));
    this.#waits.close();
    await Promise.all(waiters.map(({ ticket }) => this.#giveUp(ticket)));
    await this.#looking;
  }

  async #giveUp({ id, claim }: Ticket): Promise<void> {
    const { tickets, replica, logger, unwanted } = this.#deps;
    try {
      if (claim) return void (await tickets.adopt(claim, stoppedHome(replica), replica));
      const end = await tickets.remove(id, replica);
      if (end?.kind === 'admitted') unwanted(end.sandbox_id);
    } catch (err) {
      logger.debug({ err }, 'Could not remove a spawn that waits; another server does.');
    }
  }

  /** The number of tickets that wait then; undefined: another one has its key. */
  async #add(ticket: Ticket): Promise<number | undefined> {
    const { tickets, most, ended } = this.#deps;
    this.#toAdd++;
    const adding = this.#adding.then(async () => {
      if (this.#closed) throw stopping();
      return tickets.add(ticket, most);
    });
    this.#adding = adding.catch(() => undefined);
    try {
      const added = await adding;
      if (added.kind === 'full') throw queueFull(most);
      if (added.kind === 'key_taken') return undefined;
      if (added.crowded) ended(added.crowded);
      return added.depth;
    } catch (error) {
      this.#left.unanswered(ticket);
      throw error;
    } finally {
      this.#toAdd--;
    }
  }

  #wait<T>(
    ticket: Ticket,
    applicant: StoredApplicant<T>,
    addedAt: number,
    signal: Abort | undefined,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const left = () => void this.#leave(waiter, signal?.reason);
      const waiter: Waiter = {
        ticket,
        applicant,
        addedAt,
        wait: undefined,
        isOver: false,
        resolve: (admitted) => {
          signal?.removeEventListener('abort', left);
          resolve(admitted as T);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', left);
          reject(error);
        },
      };
      applicant.waits?.();
      this.#waiters.set(ticket.id, waiter);
      if (this.#closed) {
        this.#settle(waiter, () => reject(stopping()));
        void this.#giveUp(ticket);
        return;
      }
      waiter.wait = this.#waits.begin(waiter);
      signal?.addEventListener('abort', left);
      if (signal?.aborted) left();
    });
  }

  async #expire(waiter: Waiter): Promise<void> {
    const wait_ms = this.#waited(waiter);
    await this.#leave(waiter, waitedTooLong(wait_ms), () => this.counter.timedOut(waiter.applicant, wait_ms));
  }

  /** Ends the wait, unless the ticket has ended: a successful attempt is never undone. */
  async #leave(waiter: Waiter, reason: unknown, left?: () => void): Promise<void> {
    const { tickets, replica } = this.#deps;
    try {
      const end = await tickets.remove(waiter.ticket.id, replica);
      if (end) this.#finish(waiter, end);
      else
        this.#settle(waiter, () => {
          left?.();
          waiter.reject(reason);
        });
    } catch (error) {
      this.#left.unanswered(waiter.ticket);
      this.#settle(waiter, () => waiter.reject(error));
    }
  }

  #finish(waiter: Waiter, end: TicketEnd): void {
    this.#settle(waiter, () => {
      this.#left.watch();
      if (end.kind === 'refused') waiter.reject(errorFromJson(end.error));
      else if (end.kind === 'crowded_out') waiter.reject(crowdedOut(this.#deps.most));
      else {
        this.counter.dequeued(waiter.applicant, this.#waited(waiter));
        waiter.applicant.resume(waiter.ticket, end.sandbox_id).then(waiter.resolve, waiter.reject);
      }
    });
  }

  #settle(waiter: Waiter, how: () => void): void {
    if (waiter.isOver) return;
    waiter.isOver = true;
    if (waiter.wait) this.#waits.end(waiter.wait);
    this.#waiters.delete(waiter.ticket.id);
    how();
  }

  /** Deletes the tickets of this process that have no waiter. */
  async #tidy(listed: readonly HomeTicket[]): Promise<void> {
    const { tickets, replica } = this.#deps;
    const left = listed.filter(({ id }) => !this.#waiters.has(id));
    const ended = left.filter(({ end }) => end !== undefined);
    for (const ticket of ended) this.#left.ended(ticket);
    if (ended.length > 0) await tickets.forget(ended.map(({ id }) => id));
    // Its answer may be missing still.
    if (this.#toAdd > 0) return;
    for (const { id, end } of left)
      if (!end && (await tickets.remove(id, replica)) !== undefined) this.#left.watch();
  }

  #waited = ({ wait }: Waiter): number => (wait ? this.#waits.lasted(wait) : 0);
}
