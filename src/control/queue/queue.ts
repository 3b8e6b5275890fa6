// The queue of spawns that wait for capacity (docs/design/api.md#queue). It tries one at a time; each attempt is a
// transaction of the store that decides and reserves. The queue only uses the results and counts nothing itself. No
// provider works meanwhile.
import { type AdmissionDecision, isCapacityDenial } from '../../domain/admission.ts';
import { FairQueue, type MissingCapacity, type QueueEntry } from '../../domain/fair-queue.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Publisher } from '../records/publish.ts';
import type { QueueSettings } from '../records/settings.ts';
import { admissionRefused, crowdedOut, queueFull, stopping, waitedTooLong } from './refusals.ts';
import { type Applicant, Ticket } from './ticket.ts';
import { Waits } from './waits.ts';

/** The reason for a spawn that was not tried: those before it wait for the same capacity. */
const BEHIND_OTHERS = 'behind_others';

/** What the queue has done since the start. */
export interface QueueCounts {
  queued_total: number;
  /** Spawns that were started. */
  dequeued_total: number;
  timeouts: number;
  /** Waits of spawns that were started. */
  wait_total_ms: number;
  wait_max_ms: number;
  wait_avg_ms: number;
}

export interface QueueDeps {
  publisher: Pick<Publisher, 'note'>;
  clock: Clock;
}

export class SpawnQueue {
  readonly #deps: QueueDeps;
  readonly #settings: QueueSettings;
  readonly #fair = new FairQueue<Ticket>();
  readonly #waits: Waits<QueueEntry<Ticket>>;
  readonly #counts = { queued_total: 0, dequeued_total: 0, timeouts: 0, wait_total_ms: 0, wait_max_ms: 0 };
  #trying: QueueEntry<Ticket> | undefined;
  #frees = 0;
  #closed = false;

  constructor(deps: QueueDeps, settings: QueueSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#waits = new Waits({
      clock: deps.clock,
      limitMs: settings.timeoutMs,
      expired: (place) => this.#end(place, () => this.#timeOut(place)),
    });
  }

  /**
   * Runs `attempt` at once where there is room and nobody is overtaken, else when its turn comes. Throws
   * `resource_limit` when it is denied for good, the queue is full or the wait took too long; the reason of `signal`
   * when that aborts while it waits; `unavailable` when the server stops. A successful attempt is never undone.
   */
  async admit<T>(applicant: Applicant<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw stopping();
    const { owner_id: owner = '', provider, demand } = applicant;
    const queues = this.#settings.overflow === 'queue';
    if (queues && this.#fair.mustWait({ owner, provider, demand }))
      return this.#wait(applicant, BEHIND_OTHERS, signal);
    const tried = await applicant.attempt(false);
    if ('admitted' in tried) return tried.admitted;
    if (!queues || !isCapacityDenial(tried.denied)) throw admissionRefused(tried.denied);
    return this.#wait(applicant, tried.denied.reason ?? BEHIND_OTHERS, signal);
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

  /** Refuses queued and new spawns. */
  close(): void {
    this.#closed = true;
    this.#waits.close();
    for (const place of [...this.#fair]) this.#end(place, () => this.#remove(place, stopping()));
  }

  stats(): QueueCounts & { depth: number } {
    const { dequeued_total, wait_total_ms } = this.#counts;
    const wait_avg_ms = wait_total_ms / Math.max(1, dequeued_total);
    return { ...this.#counts, wait_avg_ms, depth: this.#fair.size };
  }

  #wait<T>(applicant: Applicant<T>, reason: string, signal: AbortSignal | undefined): Promise<T> {
    if (this.#closed) throw stopping();
    signal?.throwIfAborted();
    if (this.#fair.size >= this.#settings.most) this.#makeRoom(applicant.owner_id ?? '', this.#settings.most);
    return new Promise<T>((resolve, reject) => {
      const ticket = new Ticket(applicant, {
        signal,
        reject,
        left: this.#left,
        resolve: (admitted) => resolve(admitted as T),
      });
      this.#begin(this.#fair.add(ticket), reason);
    });
  }

  /** The owner with most entries yields to one with fewer. Throws `resource_limit` when no owner does. */
  #makeRoom(owner: string, most: number): void {
    const crowder = this.#fair.crowder(owner);
    if (!crowder) throw queueFull(most);
    this.#remove(crowder, crowdedOut(most));
  }

  readonly #left = ({ place }: Ticket, why: unknown): void => {
    if (place) this.#end(place, () => this.#remove(place, why));
  };

  #begin(place: QueueEntry<Ticket>, reason: string): void {
    place.item.place = place;
    place.item.wait = this.#waits.begin(place);
    this.#counts.queued_total++;
    this.#note('spawn.queued', place.item, { depth: this.#fair.size, reason });
    this.#pump();
  }

  /** Tries entries in turn until none is known to fit. */
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

  async #try(place: QueueEntry<Ticket>): Promise<void> {
    const ticket = place.item;
    const frees = this.#frees;
    try {
      const tried = await ticket.attempt();
      if ('admitted' in tried) this.#start(place, tried.admitted);
      else if (ticket.ending) ticket.ending();
      else if (!isCapacityDenial(tried.denied)) this.#remove(place, admissionRefused(tried.denied));
      // Capacity that was freed meanwhile may have come too late for this attempt, so it gets another.
      else if (this.#frees === frees) this.#fair.hold(place, lackOf(tried.denied));
    } catch (error) {
      this.#remove(place, error);
    }
  }

  #start(place: QueueEntry<Ticket>, admitted: unknown): void {
    const wait_ms = this.#waited(place.item);
    this.#fair.served(place);
    this.#stopWaiting(place.item);
    this.#counts.dequeued_total++;
    this.#counts.wait_total_ms += wait_ms;
    this.#counts.wait_max_ms = Math.max(this.#counts.wait_max_ms, wait_ms);
    this.#note('spawn.dequeued', place.item, { wait_ms });
    place.item.resolve(admitted);
  }

  /** Ends the wait, or lets the running attempt decide. */
  #end(place: QueueEntry<Ticket>, how: () => void): void {
    if (place === this.#trying) place.item.ending = how;
    else {
      how();
      this.#pump();
    }
  }

  #remove(place: QueueEntry<Ticket>, error: unknown): void {
    this.#fair.remove(place);
    this.#stopWaiting(place.item);
    place.item.reject(error);
  }

  #stopWaiting({ wait }: Ticket): void {
    if (wait) this.#waits.end(wait);
  }

  #timeOut(place: QueueEntry<Ticket>): void {
    const wait_ms = this.#waited(place.item);
    this.#counts.timeouts++;
    this.#note('spawn.queue_timeout', place.item, { wait_ms });
    this.#remove(place, waitedTooLong(wait_ms));
  }

  #waited({ wait }: Ticket): number {
    return wait ? this.#waits.lasted(wait) : 0;
  }

  #note(
    type: 'spawn.queued' | 'spawn.dequeued' | 'spawn.queue_timeout',
    { owner, actor, provider }: Ticket,
    facts: { wait_ms: number } | { depth: number; reason: string },
  ): void {
    const owner_id = owner === '' ? {} : { owner_id: owner };
    this.#deps.publisher.note(type, owner_id, { provider, ...owner_id, ...facts }, actor);
  }
}

function lackOf({ reason }: AdmissionDecision): MissingCapacity {
  if (reason === 'max_sandboxes_per_owner') return 'owner';
  if (reason === 'pool_full') return 'pool';
  return reason === 'worker_capacity' ? 'provider' : 'all';
}
