// The queue of spawns over several processes: each is the home of its own spawns (home.ts), one is the desk of all (desk.ts).
import type { Abort } from '../../domain/abort.ts';
import { isCapacityDenial } from '../../domain/admission.ts';
import { roomOf } from '../../domain/fair-queue.ts';
import type { SignalStore } from '../../store/seam/signals.ts';
import type { TicketEnd, TicketStore } from '../../store/seam/tickets.ts';
import type { QueueSettings } from '../records/settings.ts';
import { Desk, type DeskDeps } from './desk.ts';
import { type HomeDeps, TicketHome } from './home.ts';
import { BEHIND_OTHERS, type QueueStats, type SpawnQueue } from './queue.ts';
import { admissionRefused, stopping } from './refusals.ts';
import type { StoredApplicant } from './ticket.ts';

export interface SharedQueueDeps
  extends Pick<HomeDeps, 'publisher' | 'unwanted'>,
    Pick<DeskDeps, 'replica' | 'holds' | 'isAlive' | 'limitsOf' | 'attempt' | 'clock' | 'logger'> {
  tickets: TicketStore;
  signals: SignalStore;
}

/** Subject of `ticket`, as JSON: it was admitted at its home. Otherwise its id: the home looks how it ended. */
interface Admitted {
  id: string;
  home: string;
  sandbox_id: string;
}

/** Subject of `freed`: capacity for all. */
const ALL = '*';

export class SharedQueue implements SpawnQueue {
  readonly #tickets: TicketStore;
  readonly #signals: SignalStore;
  readonly #settings: QueueSettings;
  readonly #replica: string;
  readonly #home: TicketHome;
  readonly desk: Desk;
  #unlisten: (() => void)[] = [];
  #closed = false;

  constructor(deps: SharedQueueDeps, settings: QueueSettings) {
    this.#tickets = deps.tickets;
    this.#signals = deps.signals;
    this.#settings = settings;
    const ended = ({ id, home }: { id: string; home: string }, end?: TicketEnd) => {
      if (end?.kind === 'admitted') this.#admitted({ id, home, sandbox_id: end.sandbox_id });
      else if (home === deps.replica) void this.#home.lookAt(id);
      else this.#signals.send('ticket', id);
    };
    this.#replica = deps.replica;
    this.desk = new Desk({ ...deps, ended });
    const changed = () => {
      if (this.desk.isActive) this.desk.changed();
      else this.#signals.send('tickets');
    };
    this.#home = new TicketHome({
      ...deps,
      most: settings.most,
      limitMs: settings.timeoutMs,
      changed,
      ended,
    });
  }

  start(): void {
    this.desk.start();
    this.#unlisten = [
      this.#signals.on('ticket', (what) => this.#endedElsewhere(what)),
      this.#signals.on('tickets', () => this.desk.changed()),
      this.#signals.on('freed', (what) => this.#freedElsewhere(what)),
      this.#signals.on('quota', (owner) => owner !== undefined && this.desk.release(owner)),
    ];
  }

  async admit<T>(applicant: StoredApplicant<T>, signal?: Abort): Promise<T> {
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
    const tried = await applicant.attempt();
    if ('admitted' in tried) return tried.admitted;
    if (!queues || !isCapacityDenial(tried.denied)) throw admissionRefused(tried.denied);
    if (this.#closed) throw stopping();
    return this.#home.enter(applicant, tried.denied.reason ?? BEHIND_OTHERS, signal);
  }

  freed({ owner_id: owner = '', provider = '' }: { owner_id?: string; provider?: string }): void {
    if (this.desk.isActive) this.desk.freed({ owner, provider });
    else this.#signals.send('freed', JSON.stringify({ owner, provider }));
  }

  quotaChanged(owner_id: string): void {
    if (this.desk.isActive) this.desk.release(owner_id);
    else this.#signals.send('quota', owner_id);
  }

  limitsChanged(): void {
    if (this.desk.isActive) this.desk.releaseAll();
    else this.#signals.send('freed', ALL);
  }

  /** The home reads the row alone, which names it as the one that starts the sandbox. */
  #admitted(admitted: Admitted): void {
    const { id, home, sandbox_id } = admitted;
    if (home === this.#replica) this.#home.admitted(id, sandbox_id);
    else this.#signals.send('ticket', JSON.stringify(admitted));
  }

  #endedElsewhere(what: string | undefined): void {
    if (what === undefined) void this.#home.look();
    else if (!what.startsWith('{')) void this.#home.lookAt(what);
    else {
      const { id, home, sandbox_id } = JSON.parse(what) as Admitted;
      if (home === this.#replica) this.#home.admitted(id, sandbox_id);
    }
  }

  #freedElsewhere(what: string | undefined): void {
    if (what === undefined) this.desk.retry();
    else if (what === ALL) this.desk.releaseAll();
    else this.desk.freed(JSON.parse(what) as { owner: string; provider: string });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#over = this.#home.close();
  }

  async stop(): Promise<void> {
    this.close();
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    await Promise.all([this.#over, this.desk.stop()]);
  }

  #over: Promise<void> | undefined;

  async stats(): Promise<QueueStats> {
    return { ...this.#home.counter.counts, depth: await this.#tickets.depth() };
  }
}
