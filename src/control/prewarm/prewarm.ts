// Ready sandboxes as spawns see them: one of the exact shape is taken instead of starting a new one. They never keep a
// spawn out: one that lacks room has them ended first.
import type { AdmissionLimits } from '../../domain/admission.ts';
import { overLimits } from '../../domain/prewarm-room.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { PrewarmEntry } from '../runtime/prewarm-stock.ts';
import { Replenisher, type ReplenisherDeps } from './replenisher.ts';

/** After one was taken: its first command has the processors for itself. */
const REFILL_PAUSE_MS = 50;
const UNSURE_MS = 1000;
/** How long one may take to say that it lives, and a spawn waits for room. */
const PING_MS = 500;
const ROOM_MS = 5000;

export type PrewarmDeps = ReplenisherDeps & { sandboxes: Pick<SandboxStore, 'countActive'> };

export interface PrewarmStats {
  /** Asked for by templates, ready, and being made. */
  wanted: number;
  ready: number;
  starting: number;
  /** Spawns that took one, and those that found none although their shape is kept. */
  claimed_total: number;
  missed_total: number;
  made_total: number;
  failed_total: number;
  /** Prewarmed sandboxes ended to make room for a spawn. */
  evicted_total: number;
}

export class Prewarm {
  readonly #deps: PrewarmDeps;
  readonly #replenisher: Replenisher;
  readonly #totals = { claimed: 0, missed: 0, evicted: 0 };

  constructor(deps: PrewarmDeps) {
    this.#deps = deps;
    this.#replenisher = new Replenisher(deps);
  }

  /** Rejects when the rows cannot be read: nothing is kept then. */
  async start(): Promise<void> {
    this.#replenisher.start(await this.#deps.warm.all());
  }

  /** What is ready stays for the next process. */
  stop(): Promise<void> {
    return this.#replenisher.stop();
  }

  /** Templates are others than before. */
  changed(): void {
    this.#replenisher.look();
  }

  /** Its runtime was found to be gone. */
  lost(id: string): void {
    this.#replenisher.lost(id);
  }

  /** One that answers, for this caller alone: to be followed by `claimed`, `putBack`, `forget` or `unsure`. */
  async take(shape: string): Promise<PrewarmEntry | undefined> {
    const { stock, wanted } = this.#replenisher;
    for (let entry = stock.take(shape); entry; entry = stock.take(shape)) {
      if (await this.#answers(entry)) return entry;
      void this.#replenisher.end(entry);
    }
    if (wanted.has(shape)) this.#totals.missed++;
    return undefined;
  }

  /** It is a sandbox now. Its session stays open for the first command. */
  claimed(entry: PrewarmEntry): void {
    this.#totals.claimed++;
    this.forget(entry);
  }

  /** It was not needed. */
  putBack(entry: PrewarmEntry): void {
    entry.state = 'ready';
    this.#replenisher.look();
  }

  /** Its row is no warm one any more. */
  forget(entry: PrewarmEntry): void {
    this.#replenisher.forget(entry);
    this.#replenisher.lookIn(REFILL_PAUSE_MS);
  }

  /** The database failed in the middle of it: found out at the next look. */
  unsure(entry: PrewarmEntry): void {
    entry.state = 'unsure';
    this.#replenisher.lookIn(UNSURE_MS);
  }

  /** Ends as many as a spawn that was admitted lacks room for, and waits for their end, at most 5 s. */
  async makeRoom(provider: string, limits: AdmissionLimits): Promise<void> {
    const { stock } = this.#replenisher;
    if (stock.size === 0) return;
    const { total, by_provider } = await this.#deps.sandboxes.countActive();
    const mates = stock.all().filter(({ row }) => row.provider === provider).length;
    const used = { total: total + stock.size, of_provider: (by_provider[provider] ?? 0) + mates };
    const over = overLimits(used, limits);
    const own = stock.spare(provider).slice(0, over.of_provider);
    const others = stock.spare().filter((entry) => !own.includes(entry));
    const victims = [...own, ...others.slice(0, Math.max(0, over.total - own.length))];
    this.#totals.evicted += victims.length;
    const ended = victims.map((victim) => this.#replenisher.end(victim));
    if (ended.length > 0) await orAfter(this.#deps.clock, ROOM_MS, Promise.all(ended), () => undefined);
  }

  stats(): PrewarmStats {
    const { stock, wanted, totals } = this.#replenisher;
    return {
      wanted: [...wanted.values()].reduce((sum, { count }) => sum + count, 0),
      ready: stock.in('ready').length,
      starting: stock.in('starting').length,
      claimed_total: this.#totals.claimed,
      missed_total: this.#totals.missed,
      made_total: totals.made,
      failed_total: totals.failed,
      evicted_total: this.#totals.evicted,
    };
  }

  /** A runtime can die without closing its session. */
  async #answers({ lease }: PrewarmEntry): Promise<boolean> {
    const abort = new AbortController();
    const ping = lease?.io.ping(abort.signal) ?? Promise.reject();
    const answered = await orAfter(
      this.#deps.clock,
      PING_MS,
      ping.then(
        () => true,
        () => false,
      ),
      () => false,
    );
    abort.abort();
    return answered;
  }
}
