// Measures running sandboxes, a part of them each tick, so that no moment has all the work. Bounds: one call for a provider and
// worker at a time, with a deadline; sandboxes that somebody looks at are measured more often, and only so many of them.
import { setImmediate } from 'node:timers/promises';
import { parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { Reading } from '../../providers/reading.ts';
import type { UsageConfig } from '../../schema/config-usage.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { SandboxStore } from '../../store/store.ts';
import { Periodic } from '../async/periodic.ts';
import type { Publisher } from '../records/publish.ts';
import type { Runtimes } from '../runtime/runtimes.ts';
import { History } from './history.ts';
import { Latest, type Subject } from './latest.ts';
import type { UsageTotals } from './totals.ts';

const SLICES = 10;
/** The least sandboxes of a slice: a call to a worker for each of few would cost more than it spreads. */
const LEAST_SLICE = 50;
const LEAST_INTERVAL_MS = 2000;
/** The interval grows when it has no room for all sandboxes: beyond some thousands their files are opened each time (P50). */
const MS_EACH = 2;
/** A sandbox that another server started is measured here by then. */
const REFRESH_MS = 10_000;
const PAGE = 1000;
const WATCHED_MS = 30_000;
const WATCH_EVERY_MS = 2000;
const MOST_WATCHED = 200;
const CALL_MS = 5000;
/** The maximum time that an end waits for its last reading. */
const LAST_MS = 1000;
/** Sandboxes that are kept until the ledger has them. */
const MOST_ENDED = 20_000;
const MEBIBYTE = 1024 * 1024;
const MEASURED = ['running', 'unhealthy'];

export interface SamplerDeps {
  sandboxes: Pick<SandboxStore, 'list' | 'get'>;
  runtimes: Pick<Runtimes, 'usage'>;
  publisher: Pick<Publisher, 'note'>;
  totals: UsageTotals;
  config: UsageConfig;
  clock: Clock;
  logger: Logger;
}

export class Sampler {
  readonly history: History;
  readonly #deps: SamplerDeps;
  readonly #intervalMs: number;
  readonly #latest = new Map<string, Latest>();
  /** Monotonic times until which somebody looks. */
  readonly #watched = new Map<string, number>();
  readonly #busy = new Set<string>();
  readonly #ticks: Periodic;
  #turn: Latest[] = [];
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(deps: SamplerDeps) {
    this.#deps = deps;
    this.#intervalMs = Math.max(LEAST_INTERVAL_MS, parseDuration(deps.config.interval, 'usage.interval'));
    this.history = new History(this.#intervalMs, deps.config.history_mb * MEBIBYTE);
    this.#ticks = new Periodic(deps.clock, this.#intervalMs / SLICES, () => this.#tick());
  }

  get intervalMs(): number {
    return this.#intervalMs;
  }

  start(): void {
    this.#ticks.startLater();
  }

  stop(): Promise<void> {
    return this.#ticks.stop();
  }

  /** Everything that is known, of running sandboxes and of ended ones that the ledger lacks. */
  all(): ReadonlyMap<string, Latest> {
    return this.#latest;
  }

  get(id: string): Latest | undefined {
    return this.#latest.get(id);
  }

  /** Somebody looks at these: they are measured every 2 s for a while. */
  watch(ids: Iterable<string>): void {
    const until = this.#deps.clock.monotonic() + WATCHED_MS;
    for (const id of ids) {
      this.#watched.delete(id);
      this.#watched.set(id, until);
    }
    for (const id of [...this.#watched.keys()].slice(0, Math.max(0, this.#watched.size - MOST_WATCHED)))
      this.#watched.delete(id);
  }

  /** Notes what an event says: a start, or a command that ended. */
  async noted({ type, sandbox_id: id, data }: EventDraft): Promise<void> {
    if (id === undefined) return;
    if (type === 'sandbox.running') await this.#begin(id);
    const ms = data?.duration_ms;
    if ((type === 'exec.completed' || type === 'exec.timeout') && typeof ms === 'number')
      this.#latest.get(id)?.execEnded(this.#deps.clock.now(), ms);
  }

  /** The last reading of a sandbox, right before its runtime is removed, or after that on a worker. Never throws. */
  async last(row: Subject): Promise<void> {
    if (!this.#deps.config.enabled) return;
    const known = this.#latest.get(row.id) ?? this.#add(row);
    try {
      const error = () => new ServiceError('timeout', 'The last reading took too long.');
      const readings = await withTimeout({ clock: this.#deps.clock, ms: LAST_MS, error }, (signal) =>
        this.#deps.runtimes.usage([row], signal),
      );
      const reading = readings.get(row.id);
      if (!reading) return;
      this.#take(known, reading);
      // An engine may only know how it ended.
      known.isFinal = reading.memory_bytes !== undefined || reading.cpu_us !== undefined;
    } catch (err) {
      this.#deps.logger.debug({ err, sandbox_id: row.id }, 'No last reading; the ledger has the one before.');
    }
  }

  /** The ledger has all of it. */
  forget(id: string): void {
    this.#latest.delete(id);
    this.#watched.delete(id);
    this.history.forget(id);
  }

  async #begin(id: string): Promise<void> {
    const row = await this.#deps.sandboxes.get(id);
    if (!row || !MEASURED.includes(row.state)) return;
    const known = this.#add(row);
    // Events wait behind this one, so the measurement does not delay it.
    if (this.#deps.config.enabled) void this.#measure([known]);
  }

  #add(row: Subject): Latest {
    const known = this.#latest.get(row.id);
    if (known) {
      known.subject = row;
      return known;
    }
    const fresh = new Latest(row);
    this.#latest.set(row.id, fresh);
    return fresh;
  }

  async #tick(): Promise<void> {
    const { clock, logger, totals, config } = this.#deps;
    const began = clock.monotonic();
    try {
      if (began - this.#refreshedAt >= REFRESH_MS) await this.#refresh();
      if (!config.enabled) return;
      if (this.#turn.length === 0)
        this.#turn = [...this.#latest.values()].filter(({ subject }) => MEASURED.includes(subject.state));
      const due = this.#turn.splice(0, this.#sliceSize());
      await this.#measure([...due, ...this.#watchedNow(began)]);
      if (this.#failures > 0) logger.info({}, 'Sandboxes are measured again.');
      this.#failures = 0;
    } catch (err) {
      if (this.#failures++ === 0) logger.warn({ err }, 'Could not list the sandboxes to measure; retrying.');
    }
    totals.sampled((clock.monotonic() - began) / 1000);
  }

  #sliceSize(): number {
    const count = this.#latest.size;
    const slices = Math.max(SLICES, (count * MS_EACH) / (this.#intervalMs / SLICES));
    return Math.max(LEAST_SLICE, Math.ceil(count / slices));
  }

  #watchedNow(now: number): Latest[] {
    for (const [id, until] of [...this.#watched]) if (until < now) this.#watched.delete(id);
    return [...this.#watched.keys()].flatMap((id) => {
      const known = this.#latest.get(id);
      return known && known.age(now) >= WATCH_EVERY_MS && MEASURED.includes(known.subject.state)
        ? [known]
        : [];
    });
  }

  /** Reads which sandboxes run: other servers start some, too. */
  async #refresh(): Promise<void> {
    const { sandboxes, clock } = this.#deps;
    // A sandbox that starts while the pages are read may be missing in them.
    const gone = new Set(this.#latest.keys());
    let after: { created_at: string; id: string } | undefined;
    do {
      const rows = await sandboxes.list({ limit: PAGE, ...(after && { after }) });
      for (const row of rows) {
        gone.delete(row.id);
        if (MEASURED.includes(row.state) || this.#latest.has(row.id)) this.#add(row);
      }
      const last = rows.at(-1);
      after = rows.length === PAGE && last ? { created_at: last.created_at, id: last.id } : undefined;
      await setImmediate();
    } while (after);
    this.#refreshedAt = clock.monotonic();
    this.#dropEnded([...gone]);
  }

  /** An ended one stays until the ledger has it; without one that takes it, the oldest go. */
  #dropEnded(ended: readonly string[]): void {
    for (const id of ended) {
      const known = this.#latest.get(id);
      if (known) known.subject = { ...known.subject, state: 'destroyed' };
      this.history.forget(id);
    }
    for (const id of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) this.forget(id);
  }

  /** A provider or worker that fails or hangs delays no other. */
  async #measure(subjects: readonly Latest[]): Promise<void> {
    const groups = new Map<string, Latest[]>();
    for (const one of new Set(subjects)) {
      const key = `${one.subject.worker_id} ${one.subject.provider}`;
      groups.set(key, [...(groups.get(key) ?? []), one]);
    }
    await Promise.all([...groups].map(([key, group]) => this.#measureGroup(key, group)));
  }

  async #measureGroup(key: string, group: readonly Latest[]): Promise<void> {
    const { runtimes, clock, totals, logger } = this.#deps;
    if (this.#busy.has(key)) return;
    this.#busy.add(key);
    try {
      const error = () => new ServiceError('timeout', 'Measuring sandboxes took too long.');
      const rows = group.map(({ subject }) => subject);
      const readings = await withTimeout({ clock, ms: CALL_MS, error }, (signal) =>
        runtimes.usage(rows, signal),
      );
      for (const one of group) {
        const reading = readings.get(one.subject.id);
        if (reading) this.#take(one, reading);
      }
    } catch (err) {
      totals.failed(group[0]?.subject.provider ?? 'unknown');
      logger.debug({ err, group: key }, 'Could not measure sandboxes; retrying.');
    } finally {
      this.#busy.delete(key);
    }
  }

  #take(one: Latest, reading: Reading): void {
    const { clock, totals, publisher } = this.#deps;
    const now = clock.now();
    const { subject } = one;
    const growth = one.take(reading, { now, monotonic: clock.monotonic(), intervalMs: this.#intervalMs });
    this.history.add(subject.id, {
      at: now,
      ...(reading.memory_bytes !== undefined && { memory_bytes: reading.memory_bytes }),
      ...(reading.disk_bytes !== undefined && { disk_bytes: reading.disk_bytes }),
      ...one.rates,
    });
    if (!growth) return;
    totals.grew(subject, growth);
    if (growth.oom_kills > 0)
      publisher.note(
        'sandbox.oom',
        subject,
        { kills: growth.oom_kills, memory_mb: subject.memory_mb },
        'system:usage',
      );
  }
}
