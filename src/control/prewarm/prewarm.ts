// Prewarmed sandboxes as spawns use them: a spawn takes one of its exact shape instead of starting a new one. They
// never keep a spawn out: if it lacks room, some are ended first.
import type { AdmissionLimits } from '../../domain/admission.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { Demand } from '../runtime/demand.ts';
import type { PrewarmEntry, WhereReady } from '../runtime/prewarm-stock.ts';
import { AUTO } from '../spawn/plain.ts';
import { imageIdOf } from './auto-wants.ts';
import { displacedBy, type MakeRoomDeps, type Placed } from './make-room.ts';
import type { Want } from './prewarm-plan.ts';
import { Replenisher, type ReplenisherDeps } from './replenisher.ts';
import { isRemote } from './worker-check.ts';

/** Pause after one was taken, so that its first command has the processors to itself. */
const REFILL_PAUSE_MS = 50;
/** After a spawn without a template; many that come together are looked at once. */
const DEMAND_PAUSE_MS = 200;
const UNSURE_MS = 1000;
/** How long a sandbox may take to open a session, to answer a ping, and how long a spawn waits for room. */
const OPEN_MS = 2000;
const PING_MS = 500;
const ROOM_MS = 5000;

export type PrewarmDeps = ReplenisherDeps & MakeRoomDeps & { demand: Pick<Demand, 'onChange'> };

export interface PrewarmStats {
  /** Requested by templates or kept without one, ready, and starting. */
  wanted: number;
  ready: number;
  starting: number;
  /** The wanted ones without a template. */
  wanted_auto: number;
  /** Spawns that took one, and spawns that found none although their shape is kept. */
  claimed_total: number;
  missed_total: number;
  made_total: number;
  failed_total: number;
  /** Prewarmed sandboxes ended to make room for a spawn. */
  evicted_total: number;
  /** Ready ones by worker; `local` is this server. */
  by_worker: Record<string, number>;
}

export class Prewarm {
  readonly #deps: PrewarmDeps;
  readonly #replenisher: Replenisher;
  readonly #totals = { claimed: 0, missed: 0, evicted: 0 };

  constructor(deps: PrewarmDeps) {
    this.#deps = deps;
    this.#replenisher = new Replenisher(deps);
    deps.demand.onChange(() => this.#replenisher.lookIn(DEMAND_PAUSE_MS));
  }

  /** Rejects when the rows cannot be read; then nothing is prewarmed. */
  start(): Promise<void> {
    return this.#replenisher.start();
  }

  /** Ready sandboxes stay for the next process. */
  stop(): Promise<void> {
    return this.#replenisher.stop();
  }

  /** Templates have changed. */
  changed(): void {
    this.#replenisher.look();
  }

  /** Takes a sandbox that answers. The caller then calls `claimed`, `putBack`, `forget` or `unsure`. */
  async take(shape: string, where: WhereReady = {}): Promise<PrewarmEntry | undefined> {
    const { claims, stock, wanted } = this.#replenisher;
    while (wanted.has(shape) || stock.of(shape).length > 0) {
      const entry = await claims.take(shape, where);
      if (!entry) break;
      const [isCurrent, answers] = await Promise.all([this.#isCurrent(entry), this.#answers(entry)]);
      if (isCurrent && answers) return entry;
      void this.#replenisher.end(entry);
    }
    if (wanted.has(shape)) this.#totals.missed++;
    return undefined;
  }

  /** The entry has become a sandbox. Its session stays open for the first command. */
  claimed(entry: PrewarmEntry): void {
    this.#totals.claimed++;
    this.forget(entry);
  }

  /** The entry was not needed. */
  putBack(entry: PrewarmEntry): void {
    const retry = () => this.unsure(entry);
    void this.#replenisher.claims.putBack(entry).then(() => this.#replenisher.look(), retry);
  }

  /** The entry no longer has a prewarmed row. */
  forget(entry: PrewarmEntry): void {
    this.#replenisher.stock.forget(entry);
    this.#replenisher.lookIn(REFILL_PAUSE_MS);
  }

  /** The entry does not answer. */
  end(entry: PrewarmEntry): void {
    void this.#replenisher.end(entry);
  }

  /** The database failed during the claim: the next look finds out. */
  unsure(entry: PrewarmEntry): void {
    entry.state = 'unsure';
    this.#replenisher.lookIn(UNSURE_MS);
  }

  /** Ends as many as an admitted spawn needs room for, and waits for their end at most 5 s. Never rejects. */
  async makeRoom(row: Placed, limits: AdmissionLimits): Promise<void> {
    if (this.#replenisher.stock.size === 0) return;
    const victims = await this.#victims(row, limits).catch((err: unknown) => {
      const message = 'Could not find prewarmed sandboxes to end for a spawn; starting it beside them.';
      this.#deps.logger.warn({ sandbox_id: row.id, err }, message);
      return [];
    });
    this.#totals.evicted += victims.length;
    const ended = victims.map((victim) => this.#replenisher.end(victim));
    if (ended.length > 0) await orAfter(this.#deps.clock, ROOM_MS, Promise.all(ended), () => undefined);
  }

  async #victims(row: Placed, limits: AdmissionLimits): Promise<PrewarmEntry[]> {
    const { stock, claims } = this.#replenisher;
    await claims.refresh();
    return displacedBy(this.#deps, stock, row, limits);
  }

  /** Reads which are ready now, in all replicas; the function counts them by worker: of a template by its key, or of all. */
  async readyNow(): Promise<(template?: string) => Record<string, number>> {
    const { claims, stock } = this.#replenisher;
    await claims.refresh();
    const rows = stock.in('ready').map(({ row }) => row);
    return (template) => {
      const by: Record<string, number> = {};
      for (const row of rows)
        if (template === undefined || row.template === template)
          by[row.worker_id] = (by[row.worker_id] ?? 0) + 1;
      return by;
    };
  }

  /** Sandboxes are those of all replicas; what is counted in total is of this process. */
  async stats(): Promise<PrewarmStats> {
    const by_worker = (await this.readyNow())();
    const { stock, wanted, totals } = this.#replenisher;
    return {
      wanted: sumOf([...wanted.values()]),
      wanted_auto: sumOf([...wanted.values()].filter(({ template }) => template === AUTO)),
      ready: stock.in('ready').length,
      starting: stock.in('starting').length,
      claimed_total: this.#totals.claimed,
      missed_total: this.#totals.missed,
      made_total: totals.made,
      failed_total: totals.failed,
      evicted_total: this.#totals.evicted,
      by_worker,
    };
  }

  /** Whether a new sandbox would run the same image. Templates fix theirs when they are written. */
  async #isCurrent({ row, imageId }: PrewarmEntry): Promise<boolean> {
    if (row.template === AUTO && isRemote({ row })) return this.#isCurrentThere(row);
    const want = this.#replenisher.wanted.get(row.shape);
    if (imageId === undefined || !want) return true;
    const now = await imageIdOf(want.provider, want.plan(0)).catch(() => undefined);
    return now === imageId;
  }

  /** A worker that does not tell is of an earlier version; one that does not answer is not waited for. */
  async #isCurrentThere(row: PrewarmEntry['row']): Promise<boolean> {
    const abort = new AbortController();
    const asked = this.#deps.runtimes.hasCurrentImage(row, abort.signal).then(
      (isCurrent) => isCurrent ?? true,
      () => false,
    );
    const isCurrent = await orAfter(this.#deps.clock, OPEN_MS, asked, () => false);
    abort.abort();
    return isCurrent;
  }

  /** Pings it, since a runtime can die without closing its session. One that another process made gets a session first. */
  async #answers(entry: PrewarmEntry): Promise<boolean> {
    const abort = new AbortController();
    const silent = () => false;
    if (!entry.lease && !(await this.#opened(entry))) return false;
    const ping = (entry.lease?.io.ping(abort.signal) ?? Promise.reject()).then(() => true, silent);
    const answered = await orAfter(this.#deps.clock, PING_MS, ping, silent);
    abort.abort();
    return answered;
  }

  async #opened(entry: PrewarmEntry): Promise<boolean> {
    const { clock, sessions } = this.#deps;
    const abort = new AbortController();
    const opening = sessions.acquire(entry.row, abort.signal).then(
      (lease) => {
        this.#replenisher.sessions.hold(entry, lease);
        return true;
      },
      () => false,
    );
    const isOpen = await orAfter(clock, OPEN_MS, opening, () => false);
    if (!isOpen) abort.abort();
    return isOpen;
  }
}

const sumOf = (wants: readonly Want[]) => wants.reduce((sum, { count }) => sum + count, 0);
