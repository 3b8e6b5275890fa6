// Keeps the stock of prewarmed sandboxes as wanted: checks after changes, ends surplus ones and creates missing ones. It works in the
// background, a few at a time, and backs off after failures.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { asServiceError } from '../../domain/errors.ts';
import { NotStarted } from '../../domain/not-started.ts';
import type { Timer } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { PrewarmedRecord } from '../../store/seam/prewarmed.ts';
import type { WorkerStore } from '../../store/seam/workers.ts';
import { DEMAND_MS } from '../runtime/demand.ts';
import { type PrewarmEntry, PrewarmStock } from '../runtime/prewarm-stock.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Roles } from '../runtime/roles.ts';
import { AUTO } from '../spawn/plain.ts';
import type { Fleet } from '../workers/fleet.ts';
import { type PrewarmClaims, soleClaims } from './claims.ts';
import { FailedStarts } from './failed-starts.ts';
import { type PrewarmPlanDeps, type Want, type Wants, wantedPrewarm } from './prewarm-plan.ts';
import { ReadySessions } from './ready-sessions.ts';
import { SharedClaims } from './shared-claims.ts';
import { endPrewarmed, prewarmRow, type StartPrewarmedDeps, startPrewarmed } from './start-prewarmed.ts';
import { isRemote, uselessOnes } from './worker-check.ts';

/** Concurrent starts; spawns come first. */
const AT_ONCE = 2;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 60_000;
/** The next attempt to end one. */
const END_RETRY_MS = 5000;
/** How often those on workers are checked: a connection to a host that vanished stays open for minutes. */
const REMOTE_CHECK_MS = 10_000;
/** How often sandboxes without a template are checked for age and demand, and how long a stop waits for their end. */
const [AUTO_CHECK_MS, STOP_MS] = [30_000, 5000];
/** How often rows are read of which other processes decide, too: with the role while there are some, and otherwise. */
const SHARED_CHECK_MS = 1000;
const IDLE_CHECK_MS = 5000;

export type ReplenisherDeps = StartPrewarmedDeps &
  PrewarmPlanDeps & {
    workers: Pick<WorkerStore, 'list'>;
    fleet: Fleet;
    replicas: Pick<Replicas, 'areSeveral' | 'isAlive'>;
    /** One process at a time makes prewarmed sandboxes. Two that do so make none too many: rows are counted as they are added. */
    roles: Pick<Roles, 'holds' | 'watch'>;
    /** The id of this process. */
    replica: string;
  };

export class Replenisher {
  readonly stock = new PrewarmStock();
  readonly claims: PrewarmClaims;
  readonly sessions: ReadySessions;
  readonly totals = { made: 0, failed: 0 };
  readonly #deps: ReplenisherDeps;
  readonly #pool = new ConcurrencyLimit(AT_ONCE);
  readonly #failures: FailedStarts;
  #wanted = new Map<string, Want>();
  #timer: { timer: Timer; at: number } | undefined;
  #looking: Promise<void> | undefined;
  #again = false;
  #running = false;

  constructor(deps: ReplenisherDeps) {
    this.#deps = deps;
    const { replicas, warm } = deps;
    this.#failures = new FailedStarts(deps.clock);
    const isIdle = (entry: PrewarmEntry) => this.#isIdle(entry);
    this.sessions = new ReadySessions({ ...deps, isIdle, lost: (entry) => this.#lost(entry) });
    this.claims = replicas.areSeveral ? new SharedClaims(this.stock, deps) : soleClaims(this.stock, warm);
  }

  /** The requested sandboxes by shape, as of the last look. */
  get wanted(): ReadonlyMap<string, Want> {
    return this.#wanted;
  }

  /**
   * The only process adopts the rows of the previous one: `ready` sandboxes that answer are kept, all others are ended. Rejects
   * when the rows cannot be read.
   */
  async start(): Promise<void> {
    const rows = this.claims.areShared ? [] : await this.#deps.warm.all();
    this.#running = true;
    this.#deps.roles.watch('warm', { gained: () => this.look() });
    for (const row of rows) this.#adopt(row);
    this.look();
  }

  /** Starts nothing new; ready sandboxes of templates stay for the next process. Resolves when all work has settled. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#timer?.timer.cancel();
    for (const { abort, state, isWatched } of this.stock.all())
      if (state === 'starting' || isWatched) abort.abort();
    await Promise.all([this.#looking, ...this.stock.all().map(({ making }) => making)]);
    // Starts that were interrupted are being ended now. The next process knows no demand, and keeps nothing without a template.
    const idle = this.claims.areShared
      ? []
      : this.stock.in('ready').filter(({ row }) => row.template === AUTO);
    await orAfter(
      this.#deps.clock,
      STOP_MS,
      Promise.all(idle.map((entry) => this.end(entry))),
      () => undefined,
    );
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
    if (!this.#isIdle(entry)) return;
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
    const isUsed = this.stock.size + this.#wanted.size > 0;
    if (this.claims.areShared) this.lookIn(isUsed && this.#isMaker() ? SHARED_CHECK_MS : IDLE_CHECK_MS);
    const { all, unknown } = await wantedPrewarm(this.#deps);
    const message = 'Could not plan the prewarmed sandboxes of a template; retrying.';
    for (const [template, err] of unknown) this.#deps.logger.debug({ template, err }, message);
    if (unknown.size > 0) this.lookIn(LAST_RETRY_MS);
    this.#wanted = new Map(all.map((want) => [want.shape, want]));
    if (all.some(({ template }) => template === AUTO)) this.lookIn(AUTO_CHECK_MS);
    await this.#resolveUnsure();
    await this.claims.refresh();
    await this.#recover();
    if (this.#isMaker()) await this.#checkWorkers();
    if (!this.#running) return;
    for (const entry of this.stock.all())
      if (entry.state === 'ending' && !entry.ending && !entry.isElsewhere) void this.end(entry);
    if (this.#isMaker()) this.#makeAsWanted(all, unknown);
    else for (const entry of this.stock.in('ready')) this.sessions.release(entry);
  }

  #makeAsWanted(all: readonly Want[], unknown: Wants['unknown']): void {
    for (const entry of this.stock.all())
      if (this.#isSurplus(entry) && !unknown.has(entry.row.template)) void this.end(entry);
    for (const want of all) this.#fill(want);
    if (this.claims.areShared) for (const entry of this.stock.in('ready')) this.sessions.watch(entry);
  }

  #isMaker(): boolean {
    return this.#deps.roles.holds('warm');
  }

  /** Handles rows that nobody works on any more: a ready one can be taken again, all others end. */
  async #recover(): Promise<void> {
    for (const entry of this.stock.all()) {
      const isOwn = entry.row.replica_id === this.claims.replica_id;
      if (!(isOwn || this.#isMaker()) || !this.claims.isAbandoned(entry)) continue;
      if (entry.row.state === 'ready') await this.claims.recover(entry);
      else void this.end(Object.assign(entry, { isElsewhere: false }));
    }
  }

  /** Nobody has claimed or ended it, as far as this process knows. */
  #isIdle(entry: PrewarmEntry): boolean {
    return this.#running && entry.state === 'ready' && this.stock.get(entry.row.id) === entry;
  }

  async #checkWorkers(): Promise<void> {
    const kept = this.stock.spare();
    if (kept.some(isRemote)) this.lookIn(REMOTE_CHECK_MS);
    for (const entry of await uselessOnes(this.#deps, kept)) void this.end(entry);
  }

  /** Keeps the oldest of each shape. */
  #isSurplus(entry: PrewarmEntry): boolean {
    if ((entry.state !== 'ready' && entry.state !== 'starting') || entry.isElsewhere) return false;
    const { shape, template, created_at } = entry.row;
    if (template === AUTO && this.#deps.clock.now() - Date.parse(created_at) > DEMAND_MS) return true;
    const count = this.#wanted.get(shape)?.count ?? 0;
    return this.stock.of(shape).indexOf(entry) >= count;
  }

  async #resolveUnsure(): Promise<void> {
    for (const entry of this.stock.in('unsure')) await this.claims.putBack(entry);
  }

  #fill(want: Want): void {
    const wait = this.#failures.waitMs(want.shape);
    if (wait > 0) this.lookIn(wait);
    else while (this.stock.of(want.shape).length < want.count) this.#begin(want);
  }

  #begin(want: Want): void {
    const { replica_id } = this.claims;
    const planned = prewarmRow(want, this.#deps.clock.now());
    const row = replica_id === undefined ? planned : { ...planned, replica_id };
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
      const most = this.claims.areShared ? want.count : undefined;
      entry.imageId = want.imageId;
      Object.assign(entry, await startPrewarmed(this.#deps, want, entry, most));
      this.totals.made++;
      this.#failures.started(want.shape);
    } catch (error) {
      if (!entry.abort.signal.aborted) this.#failed(want, error);
      if (error instanceof NotStarted) entry.isNotStarted = true;
      throw error;
    }
  }

  #made(entry: PrewarmEntry): void {
    if (entry.state !== 'starting') return;
    entry.state = 'ready';
    if (entry.lease) this.sessions.hold(entry, entry.lease);
    this.look();
  }

  #failed({ shape, template }: Want, error: unknown): void {
    const isFull = asServiceError(error).code === 'resource_limit';
    if (!this.#failures.failed(shape, isFull) || isFull) return;
    this.totals.failed++;
    this.#deps.logger.warn({ template, err: error }, 'Could not start a prewarmed sandbox; retrying.');
  }

  async #end(entry: PrewarmEntry): Promise<void> {
    const { row } = entry;
    try {
      await entry.making;
      entry.lease?.release();
      delete entry.lease;
      if (await this.claims.end(entry)) await endPrewarmed(this.#deps, entry);
      this.stock.delete(row.id);
      this.look();
    } catch (error) {
      this.#deps.logger.warn(
        { sandbox_id: row.id, err: error },
        'Could not confirm that a prewarmed sandbox ended; retrying.',
      );
      this.lookIn(END_RETRY_MS);
    }
  }
}
