// Spawns that wait for a place (api.md part 2). One attempt at a time, each a transaction of the store that decides and
// reserves at once: the queue knows only what it was told and never counts itself. No provider works meanwhile.
import { type AdmissionDecision, isCapacityDenial } from '../domain/admission.ts';
import { Chain, type Link } from '../domain/chain.ts';
import { ServiceError } from '../domain/errors.ts';
import { FairQueue, type Lack, type Place } from '../domain/fair-queue.ts';
import type { Clock, Timer } from '../domain/ports.ts';
import { admissionRefused } from './admission-refused.ts';
import type { Publisher } from './publish.ts';
import { QueueCounters, type QueueCounts } from './queue-counters.ts';
import type { QueueSettings } from './settings.ts';

/** Why one waits that was not tried: those before it wait for the same. */
const BEHIND_OTHERS = 'behind_others';

/** What an attempt came to. It is over when the place is reserved or refused, not when the sandbox runs. */
export type Attempt<T> = { admitted: T } | { denied: AdmissionDecision };

export interface Applicant<T> {
  owner_id: string | undefined;
  provider: string;
  attempt(): Promise<Attempt<T>>;
}

interface Ticket {
  readonly owner: string;
  readonly provider: string;
  readonly since: number;
  attempt(): Promise<Attempt<unknown>>;
  /** Both end its waiting, the first one counts. */
  resolve(admitted: unknown): void;
  reject(error: unknown): void;
  /** Its place among those that wait, by age. */
  age: Link<Place<Ticket>> | undefined;
  /** How it should end, said while its attempt was under way: only an attempt that fails heeds it. */
  ending: (() => void) | undefined;
}

export interface QueueDeps {
  publisher: Publisher;
  clock: Clock;
}

export class SpawnQueue {
  readonly #deps: QueueDeps;
  readonly #settings: QueueSettings;
  readonly #fair = new FairQueue<Ticket>();
  /** Oldest first: with one limit for all also in the order in which they run out. */
  readonly #ages = new Chain<Place<Ticket>>();
  readonly #counters = new QueueCounters();
  #timer: Timer | undefined;
  #trying: Place<Ticket> | undefined;
  #frees = 0;
  #closed = false;

  constructor(deps: QueueDeps, settings: QueueSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /**
   * What `attempt` admits: at once where there is room and nobody is overtaken, else when its turn comes. Throws
   * `resource_limit` when it was denied for good, the queue is full or the wait took too long; the reason of `signal`
   * when that aborts while it waits; `unavailable` when the server stops. An attempt that has succeeded is never undone.
   */
  async admit<T>(applicant: Applicant<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw stopping();
    const { owner_id: owner = '', provider } = applicant;
    const queues = this.#settings.overflow === 'queue';
    if (!queues || !this.#fair.mustWait({ owner, provider })) {
      const tried = await applicant.attempt();
      if ('admitted' in tried) return tried.admitted;
      if (!queues || !isCapacityDenial(tried.denied)) throw admissionRefused(tried.denied);
      return this.#wait(applicant, tried.denied.reason ?? BEHIND_OTHERS, signal);
    }
    return this.#wait(applicant, BEHIND_OTHERS, signal);
  }

  /** A sandbox has ended. */
  freed({ owner_id: owner = '', provider = '' }: { owner_id?: string; provider?: string }): void {
    this.#frees++;
    if (this.#fair.size === 0) return;
    this.#fair.freed({ owner, provider });
    this.#pump();
  }

  /** The limits of this owner have changed. */
  quotaChanged(owner_id: string): void {
    this.#frees++;
    this.#fair.release(owner_id);
    this.#pump();
  }

  /** The limits of all have changed. */
  limitsChanged(): void {
    this.#frees++;
    this.#fair.releaseAll();
    this.#pump();
  }

  /** Refuses those that wait and all that come. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    for (const place of [...this.#fair]) this.#end(place, () => this.#remove(place, stopping()));
  }

  stats(): QueueCounts & { depth: number } {
    return { ...this.#counters.counts(), depth: this.#fair.size };
  }

  #wait<T>(applicant: Applicant<T>, reason: string, signal: AbortSignal | undefined): Promise<T> {
    if (this.#closed) throw stopping();
    signal?.throwIfAborted();
    if (this.#fair.size >= this.#settings.most) throw queueFull(this.#settings.most);
    return new Promise<T>((resolve, reject) => {
      const leave = () => this.#end(place, () => this.#remove(place, signal?.reason));
      const done = () => signal?.removeEventListener('abort', leave);
      const place = this.#fair.add({
        owner: applicant.owner_id ?? '',
        provider: applicant.provider,
        since: this.#deps.clock.monotonic(),
        attempt: () => applicant.attempt(),
        resolve: (admitted) => {
          done();
          resolve(admitted as T);
        },
        reject: (error) => {
          done();
          reject(error);
        },
        ...{ age: undefined, ending: undefined },
      });
      signal?.addEventListener('abort', leave);
      this.#begin(place, reason);
    });
  }

  #begin(place: Place<Ticket>, reason: string): void {
    place.item.age = this.#ages.append(place);
    this.#counters.queued();
    this.#note('spawn.queued', place.item, { depth: this.#fair.size, reason });
    this.#arm();
    this.#pump();
  }

  /** Tries those whose turn it is until nobody is known to fit. */
  #pump(): void {
    if (this.#trying || this.#closed) return;
    const place = this.#fair.next();
    if (!place) return;
    this.#trying = place;
    void this.#try(place).finally(() => {
      this.#trying = undefined;
      this.#pump();
    });
  }

  async #try(place: Place<Ticket>): Promise<void> {
    const ticket = place.item;
    const frees = this.#frees;
    try {
      const tried = await ticket.attempt();
      if ('admitted' in tried) this.#start(place, tried.admitted);
      else if (ticket.ending) ticket.ending();
      else if (!isCapacityDenial(tried.denied)) this.#remove(place, admissionRefused(tried.denied));
      // What was freed meanwhile may have come too late for this attempt: then it has another.
      else if (this.#frees === frees) this.#fair.hold(place, lackOf(tried.denied));
    } catch (error) {
      this.#remove(place, error);
    }
  }

  #start(place: Place<Ticket>, admitted: unknown): void {
    const wait_ms = this.#waited(place.item);
    this.#fair.served(place);
    this.#forget(place.item);
    this.#counters.dequeued(wait_ms);
    this.#note('spawn.dequeued', place.item, { wait_ms });
    place.item.resolve(admitted);
  }

  /** Ends its waiting, or lets the attempt that is under way decide. */
  #end(place: Place<Ticket>, how: () => void): void {
    if (place === this.#trying) place.item.ending = how;
    else {
      how();
      this.#pump();
    }
  }

  #remove(place: Place<Ticket>, error: unknown): void {
    this.#fair.remove(place);
    this.#forget(place.item);
    place.item.reject(error);
  }

  #forget(ticket: Ticket): void {
    if (ticket.age) this.#ages.remove(ticket.age);
    ticket.age = undefined;
  }

  /** One timer, for the oldest. */
  #arm(): void {
    const oldest = this.#ages.first?.value.item;
    if (this.#timer || !oldest || this.#closed) return;
    const left = this.#settings.timeoutMs - this.#waited(oldest);
    this.#timer = this.#deps.clock.after(left, () => {
      this.#timer = undefined;
      this.#expire();
      this.#arm();
    });
  }

  #expire(): void {
    for (let link = this.#ages.first; link; link = this.#ages.first) {
      const place = link.value;
      if (this.#waited(place.item) < this.#settings.timeoutMs) return;
      this.#forget(place.item);
      this.#end(place, () => this.#timeOut(place));
    }
  }

  #timeOut(place: Place<Ticket>): void {
    const wait_ms = this.#waited(place.item);
    this.#counters.timedOut();
    this.#note('spawn.queue_timeout', place.item, { wait_ms });
    this.#remove(place, waitedTooLong(wait_ms));
  }

  #waited({ since }: Ticket): number {
    return Math.round(this.#deps.clock.monotonic() - since);
  }

  #note(
    type: 'spawn.queued' | 'spawn.dequeued' | 'spawn.queue_timeout',
    { owner, provider }: Ticket,
    facts: { wait_ms: number } | { depth: number; reason: string },
  ): void {
    const owner_id = owner === '' ? {} : { owner_id: owner };
    this.#deps.publisher.note(type, owner_id, { provider, ...owner_id, ...facts });
  }
}

function lackOf({ reason }: AdmissionDecision): Lack {
  if (reason === 'max_sandboxes_per_owner') return 'owner';
  if (reason === 'pool_full') return 'pool';
  return reason === 'worker_capacity' ? 'provider' : 'all';
}

const RETRY_MS = 1000;

function queueFull(most: number): ServiceError {
  return new ServiceError('resource_limit', `All places are in use and ${most} spawns wait already.`, {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_full', max_spawn_queue: most },
  });
}

function waitedTooLong(wait_ms: number): ServiceError {
  return new ServiceError('resource_limit', 'No place became free in time.', {
    remedy: 'Try again later.',
    retryAfterMs: RETRY_MS,
    details: { reason: 'queue_timeout', wait_ms },
  });
}

function stopping(): ServiceError {
  return new ServiceError('unavailable', 'The server is stopping.', { retryAfterMs: 5000 });
}
