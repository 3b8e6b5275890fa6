// Keeps the stock of prewarmed sandboxes as templates request it: checks after changes, ends surplus ones and creates
// missing ones. It works in the background, a few at a time, and backs off after failures.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { asServiceError } from '../../domain/errors.ts';
import { NotStarted } from '../../domain/not-started.ts';
import type { Timer } from '../../domain/ports.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { PrewarmedRecord } from '../../store/seam/prewarmed.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import { type PrewarmEntry, PrewarmStock } from '../runtime/prewarm-stock.ts';
import type { Fleet } from '../workers/fleet.ts';
import { type PrewarmPlanDeps, type Want, wantedPrewarm } from './prewarm-plan.ts';
import { endPrewarmed, prewarmRow, type StartPrewarmedDeps, startPrewarmed } from './start-prewarmed.ts';

/** Concurrent starts; spawns come first. */
const AT_ONCE = 2;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** Capacity changes without notification. */
const NO_ROOM_RETRY_MS = 5000;
/** How often those on workers are checked: a connection to a host that vanished stays open for minutes. */
const REMOTE_CHECK_MS = 10_000;

export type ReplenisherDeps = StartPrewarmedDeps &
  PrewarmPlanDeps & { workers: Pick<WorkerStore, 'list'>; fleet: Fleet };

export class Replenisher {
  readonly stock = new PrewarmStock();
  readonly totals = { made: 0, failed: 0 };
  readonly #deps: ReplenisherDeps;
  readonly #pool = new ConcurrencyLimit(AT_ONCE);
  /** Failures by shape. */
  readonly #failures = new Map<string, { attempts: number; until: number }>();
  #wanted = new Map<string, Want>();
  #timer: { timer: Timer; at: number } | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #running = false;

  constructor(deps: ReplenisherDeps) {
    this.#deps = deps;
  }

  /** The requested sandboxes by shape, as of the last look. */
  get wanted(): ReadonlyMap<string, Want> {
    return this.#wanted;
  }

  /** Adopts the rows of the previous process: `ready` sandboxes that answer are kept, all others are ended. */
  start(rows: readonly PrewarmedRecord[]): void {
    this.#running = true;
    for (const row of rows) this.#adopt(row);
    this.look();
  }

  /** Starts nothing new; ready sandboxes stay for the next process. Resolves when all work has settled. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#timer?.timer.cancel();
    for (const { abort } of this.stock.in('starting')) abort.abort();
    await Promise.all([this.#looking, ...this.stock.all().map(({ making }) => making)]);
    // Starts that were interrupted are being ended now.
    await Promise.all(this.stock.all().map(({ ending }) => ending));
  }

  /** Checks the stock after a change. */
  look(): void {
    this.#again = true;
    if (!this.#running || this.#looking) return;
    this.#looking = this.#looks().finally(() => {
      this.#looking = undefined;
      if (this.#again) this.look();
    });
  }

  lookIn(ms: number): void {
    if (!this.#running) return;
    const at = this.#deps.clock.monotonic() + ms;
    if (this.#timer && this.#timer.at <= at) return;
    this.#timer?.timer.cancel();
    const due = () => {
      this.#timer = undefined;
      this.look();
    };
    this.#timer = { at, timer: this.#deps.clock.after(ms, due) };
  }

  /** Ends one and retries after a failure. Resolves when it has ended or this attempt failed. */
  end(entry: PrewarmEntry): Promise<void> {
    entry.state = 'ending';
    entry.abort.abort();
    entry.ending ??= this.#end(entry).finally(() => {
      delete entry.ending;
    });
    return entry.ending;
  }

  #lost(entry: PrewarmEntry): void {
    if (entry.state !== 'ready' || !this.#running) return;
    this.#deps.logger.info({ sandbox_id: entry.row.id }, 'Prewarmed sandbox lost; replacing it.');
    void this.end(entry);
  }

  async #looks(): Promise<void> {
    while (this.#again && this.#running) {
      this.#again = false;
      try {
        await this.#look();
      } catch (error) {
        this.#deps.logger.warn({ err: error }, 'Prewarming failed; retrying.');
        this.lookIn(FIRST_RETRY_MS);
      }
    }
  }

  async #look(): Promise<void> {
    const { all, unknown } = await wantedPrewarm(this.#deps);
    for (const [template, err] of unknown)
      this.#deps.logger.debug(
        { template, err },
        'Could not plan the prewarmed sandboxes of a template; retrying.',
      );
    if (unknown.size > 0) this.lookIn(LAST_RETRY_MS);
    this.#wanted = new Map(all.map((want) => [want.shape, want]));
    await this.#resolveUnsure();
    await this.#checkWorkers();
    if (!this.#running) return;
    for (const entry of this.stock.all()) {
      const left = entry.state === 'ending' && !entry.ending;
      if (left || (this.#isSurplus(entry) && !unknown.has(entry.row.template))) void this.end(entry);
    }
    for (const want of all) this.#fill(want);
  }

  /** Ends those on workers that drain, and those whose lease is over: their worker has ended them. */
  async #checkWorkers(): Promise<void> {
    const kept = this.stock.spare();
    if (kept.length === 0) return;
    const { workers, fleet } = this.#deps;
    const all = await workers.list();
    const closed = new Set(all.filter(isDraining).map(({ id }) => id));
    for (const entry of kept) {
      const { id, worker_id } = entry.row;
      const isRemote = worker_id !== LOCAL_WORKER;
      if (isRemote) this.lookIn(REMOTE_CHECK_MS);
      const isLost = isRemote && entry.state === 'ready' && ((await fleet.leases.overFor(id)) ?? 0) >= 0;
      if (isLost || closed.has(worker_id)) void this.end(entry);
    }
  }

  /** Keeps the oldest of each shape. */
  #isSurplus(entry: PrewarmEntry): boolean {
    if (entry.state !== 'ready' && entry.state !== 'starting') return false;
    const { shape } = entry.row;
    const count = this.#wanted.get(shape)?.count ?? 0;
    return this.stock.of(shape).indexOf(entry) >= count;
  }

  async #resolveUnsure(): Promise<void> {
    for (const entry of this.stock.in('unsure')) {
      if (await this.#deps.warm.get(entry.row.id)) entry.state = 'ready';
      else this.forget(entry);
    }
  }

  /** The entry is no longer prewarmed. */
  forget(entry: PrewarmEntry): void {
    this.stock.delete(entry.row.id);
    entry.lease?.release();
  }

  #fill(want: Want): void {
    const wait = (this.#failures.get(want.shape)?.until ?? 0) - this.#deps.clock.monotonic();
    if (wait > 0) this.lookIn(wait);
    else while (this.stock.of(want.shape).length < want.count) this.#begin(want);
  }

  #begin(want: Want): void {
    const row = prewarmRow(want, this.#deps.clock.now());
    this.#add(row, (entry) => this.#pool.run(() => this.#make(want, entry)));
  }

  #adopt(row: PrewarmedRecord): void {
    this.#add(row, async (entry) => {
      if (row.state !== 'ready') throw new Error('it was not finished');
      entry.lease = await this.#deps.sessions.acquire(row, entry.abort.signal);
    });
  }

  #add(row: PrewarmedRecord, work: (entry: PrewarmEntry) => Promise<void>): void {
    const making = Promise.resolve();
    const entry: PrewarmEntry = { row, state: 'starting', abort: new AbortController(), making };
    this.stock.add(entry);
    entry.making = work(entry).then(
      () => this.#made(entry),
      () => void this.end(entry),
    );
  }

  async #make(want: Want, entry: PrewarmEntry): Promise<void> {
    try {
      Object.assign(entry, await startPrewarmed(this.#deps, want, entry));
      this.totals.made++;
      this.#failures.delete(want.shape);
    } catch (error) {
      if (!entry.abort.signal.aborted) this.#failed(want, error);
      if (error instanceof NotStarted) entry.isNotStarted = true;
      throw error;
    }
  }

  #made(entry: PrewarmEntry): void {
    if (entry.state !== 'starting') return;
    entry.state = 'ready';
    void entry.lease?.io.closed.then(() => this.#lost(entry));
    this.look();
  }

  #failed({ shape, template }: Want, error: unknown): void {
    const { code } = asServiceError(error);
    // Concurrent starts fail together: that counts once.
    if ((this.#failures.get(shape)?.until ?? 0) > this.#deps.clock.monotonic()) return;
    const attempts = (this.#failures.get(shape)?.attempts ?? 0) + 1;
    const isFull = code === 'resource_limit';
    const ms = isFull ? NO_ROOM_RETRY_MS : Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (attempts - 1));
    this.#failures.set(shape, { attempts, until: this.#deps.clock.monotonic() + ms });
    if (isFull) return;
    this.totals.failed++;
    this.#deps.logger.warn({ template, err: error }, 'Could not start a prewarmed sandbox; retrying.');
  }

  async #end(entry: PrewarmEntry): Promise<void> {
    const { row } = entry;
    try {
      await entry.making;
      entry.lease?.release();
      delete entry.lease;
      await endPrewarmed(this.#deps, entry);
      this.stock.delete(row.id);
      this.look();
    } catch (error) {
      this.#deps.logger.warn(
        { sandbox_id: row.id, err: error },
        'Could not confirm that a prewarmed sandbox ended; retrying.',
      );
      this.lookIn(NO_ROOM_RETRY_MS);
    }
  }
}

/** It accepts no sandboxes, by request or by itself: nobody could take one there. */
const isDraining = ({ drain, status }: WorkerRecord): boolean => drain || status === 'draining';
