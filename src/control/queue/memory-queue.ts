// The queue of one process. It tries one spawn at a time; each attempt is a transaction of the store that decides and reserves.
// The queue only uses the results and counts nothing itself. No provider works meanwhile.
import type { Abort } from '../../domain/abort.ts';
import { isCapacityDenial } from '../../domain/admission.ts';
import { FairQueue, type QueueEntry } from '../../domain/fair-queue.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Publisher } from '../records/publish.ts';
import type { QueueSettings } from '../records/settings.ts';
import { QueueCounter } from './counter.ts';
import { BEHIND_OTHERS, type QueueStats, type SpawnQueue } from './queue.ts';
import { admissionRefused, crowdedOut, queueFull, stopping, waitedTooLong } from './refusals.ts';
import { type Applicant, lackOf, QueuedSpawn } from './ticket.ts';
import { Waits } from './waits.ts';

export interface QueueDeps {
  publisher: Pick<Publisher, 'note'>;
  clock: Clock;
}

export class MemoryQueue implements SpawnQueue {
  readonly #settings: QueueSettings;
  readonly #fair = new FairQueue<QueuedSpawn>();
  readonly #waits: Waits<QueueEntry<QueuedSpawn>>;
  readonly #counter: QueueCounter;
  #trying: QueueEntry<QueuedSpawn> | undefined;
  #frees = 0;
  #closed = false;

  constructor(deps: QueueDeps, settings: QueueSettings) {
    this.#settings = settings;
    this.#counter = new QueueCounter(deps.publisher);
    this.#waits = new Waits({
      clock: deps.clock,
      limitMs: settings.timeoutMs,
      expired: (place) => this.#end(place, () => this.#timeOut(place)),
    });
  }

  async admit<T>(applicant: Applicant<T>, signal?: Abort): Promise<T> {
    if (this.#closed) throw stopping();
    const { owner_id: owner = '', provider, demand } = applicant;
    const queues = this.#settings.overflow === 'queue';
    if (queues && this.#fair.mustWait({ owner, provider, demand }))
      return this.#wait(applicant, BEHIND_OTHERS, signal);
    const tried = await applicant.attempt();
    if ('admitted' in tried) return tried.admitted;
    if (!queues || !isCapacityDenial(tried.denied)) throw admissionRefused(tried.denied);
    return this.#wait(applicant, tried.denied.reason ?? BEHIND_OTHERS, signal);
  }

  freeing(facts: { owner_id?: string; provider?: string }): void {
    this.freed(facts);
  }

  freed({ owner_id: owner = '', provider = '' }: { owner_id?: string; provider?: string }): void {
    this.#frees++;
    if (this.#fair.size === 0) return;
    this.#fair.freed({ owner, provider });
    this.#pump();
  }

  quotaChanged(owner_id: string): void {
    this.#frees++;
    this.#fair.release(owner_id);
    this.#pump();
  }

  limitsChanged(): void {
    this.#frees++;
    this.#fair.releaseAll();
    this.#pump();
  }

  close(): void {
    this.#closed = true;
    this.#waits.close();
    for (const place of [...this.#fair]) this.#end(place, () => this.#remove(place, stopping()));
  }

  start(): void {}

  async stop(): Promise<void> {
    this.close();
  }

  async stats(): Promise<QueueStats> {
    return { ...this.#counter.counts, depth: this.#fair.size };
  }

  #wait<T>(applicant: Applicant<T>, reason: string, signal: Abort | undefined): Promise<T> {
    if (this.#closed) throw stopping();
    signal?.throwIfAborted();
    if (this.#fair.size >= this.#settings.most) this.#makeRoom(applicant.owner_id ?? '', this.#settings.most);
    return new Promise<T>((resolve, reject) => {
      const ticket = new QueuedSpawn(applicant, {
        signal,
        reject,
        left: this.#left,
        resolve: resolve as (admitted: unknown) => void,
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

  readonly #left = ({ place }: QueuedSpawn, why: unknown): void => {
    if (place) this.#end(place, () => this.#remove(place, why));
  };

  #begin(place: QueueEntry<QueuedSpawn>, reason: string): void {
    place.item.place = place;
    place.item.wait = this.#waits.begin(place);
    this.#counter.queued(place.item, { depth: this.#fair.size, reason });
    this.#pump();
  }

  /** Tries entries in turn until none is known to fit. */
  #pump(): void {
    if (this.#trying || this.#closed) return;
    const place = this.#fair.next();
    if (!place) return;
    this.#trying = place;
    void this.#try(place).then((isStarted) => {
      this.#trying = undefined;
      // The spawn that starts reaches its provider before the next one is planned.
      if (isStarted) setImmediate(() => this.#pump());
      else this.#pump();
    });
  }

  /** Whether the spawn starts. */
  async #try(place: QueueEntry<QueuedSpawn>): Promise<boolean> {
    const ticket = place.item;
    const frees = this.#frees;
    try {
      const tried = await ticket.attempt();
      if ('admitted' in tried) {
        this.#start(place, tried.admitted);
        return true;
      }
      if (ticket.ending) ticket.ending();
      else if (!isCapacityDenial(tried.denied)) this.#remove(place, admissionRefused(tried.denied));
      // Capacity that was freed meanwhile may have come too late for this attempt, so it gets another.
      else if (this.#frees === frees) this.#fair.hold(place, lackOf(tried.denied));
    } catch (error) {
      this.#remove(place, error);
    }
    return false;
  }

  #start(place: QueueEntry<QueuedSpawn>, admitted: unknown): void {
    const wait_ms = this.#waited(place.item);
    this.#fair.served(place);
    this.#stopWaiting(place.item);
    this.#counter.dequeued(place.item, wait_ms);
    place.item.resolve(admitted);
  }

  /** Ends the wait, or lets the running attempt decide. */
  #end(place: QueueEntry<QueuedSpawn>, how: () => void): void {
    if (place === this.#trying) place.item.ending = how;
    else {
      how();
      this.#pump();
    }
  }

  #remove(place: QueueEntry<QueuedSpawn>, error: unknown): void {
    this.#fair.remove(place);
    this.#stopWaiting(place.item);
    place.item.reject(error);
  }

  #stopWaiting({ wait }: QueuedSpawn): void {
    if (wait) this.#waits.end(wait);
  }

  #timeOut(place: QueueEntry<QueuedSpawn>): void {
    const wait_ms = this.#waited(place.item);
    this.#counter.timedOut(place.item, wait_ms);
    this.#remove(place, waitedTooLong(wait_ms));
  }

  #waited({ wait }: QueuedSpawn): number {
    return wait ? this.#waits.lasted(wait) : 0;
  }
}
