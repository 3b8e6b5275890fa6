// The queue of spawns over several processes: each is the home of its own spawns (home.ts), one is the desk of all (desk.ts).
import { isCapacityDenial } from '../../domain/admission.ts';
import { roomOf } from '../../domain/fair-queue.ts';
import type { TicketStore } from '../../store/seam/tickets.ts';
import type { QueueSettings } from '../records/settings.ts';
import { Desk, type DeskDeps } from './desk.ts';
import { type HomeDeps, TicketHome } from './home.ts';
import { BEHIND_OTHERS, type QueueStats, type SpawnQueue } from './queue.ts';
import { admissionRefused, stopping } from './refusals.ts';
import type { StoredApplicant } from './ticket.ts';

export interface SharedQueueDeps
  extends Pick<HomeDeps, 'publisher'>,
    Pick<DeskDeps, 'replica' | 'holds' | 'isAlive' | 'beats' | 'attempt' | 'clock' | 'logger'> {
  tickets: TicketStore;
}

export class SharedQueue implements SpawnQueue {
  readonly #tickets: TicketStore;
  readonly #settings: QueueSettings;
  readonly #home: TicketHome;
  readonly desk: Desk;
  #closed = false;

  constructor(deps: SharedQueueDeps, settings: QueueSettings) {
    this.#tickets = deps.tickets;
    this.#settings = settings;
    const ended = ({ id }: { id: string }) => void this.#home.lookAt(id);
    this.desk = new Desk({ ...deps, ended });
    const changed = () => this.desk.changed();
    this.#home = new TicketHome({
      ...deps,
      most: settings.most,
      limitMs: settings.timeoutMs,
      changed,
      ended,
    });
  }

  start(): void {
    this.#home.start();
    this.desk.start();
  }

  async admit<T>(applicant: StoredApplicant<T>, signal?: AbortSignal): Promise<T> {
    if (this.#closed) throw stopping();
    const { owner_id = '', provider, demand } = applicant;
    const queues = this.#settings.overflow === 'queue';
    if (queues) {
      const adopted = await this.#home.adopt(applicant, signal);
      if (adopted) return adopted.result;
      const room = roomOf({ provider, demand });
      if (await this.#tickets.mustWait({ owner_id, room }))
        return this.#home.enter(applicant, BEHIND_OTHERS, signal);
    }
    const tried = await applicant.attempt(false);
    if ('admitted' in tried) return tried.admitted;
    if (!queues || !isCapacityDenial(tried.denied)) throw admissionRefused(tried.denied);
    if (this.#closed) throw stopping();
    return this.#home.enter(applicant, tried.denied.reason ?? BEHIND_OTHERS, signal);
  }

  freed({ owner_id: owner = '', provider = '' }: { owner_id?: string; provider?: string }): void {
    this.desk.freed({ owner, provider });
  }

  quotaChanged(owner_id: string): void {
    this.desk.release(owner_id);
  }

  limitsChanged(): void {
    this.desk.releaseAll();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#over = this.#home.close();
  }

  async stop(): Promise<void> {
    this.close();
    await Promise.all([this.#over, this.desk.stop()]);
  }

  #over: Promise<void> | undefined;

  async stats(): Promise<QueueStats> {
    return { ...this.#home.counter.counts, depth: await this.#tickets.depth() };
  }
}
