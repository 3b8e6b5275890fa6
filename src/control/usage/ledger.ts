// Writes the ledger: each minute all open rows by the process with the role `upkeep`; in between, and at a stop, what this process
// alone knows: commands that ended, and last readings.
//
// A step builds on the version of the row that it read, so that two processes never write the same time or the same part of a
// counter twice, and a process that is killed has written a step entirely or not at all. Memory in use has no counter: only the
// process with the role adds it up.
import { parseDuration } from '../../domain/duration.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { UsageConfig } from '../../schema/config-usage.ts';
import type { UsageRecord, UsageStore } from '../../store/seam/usage.ts';
import { Periodic } from '../async/periodic.ts';
import type { Publisher } from '../records/publish.ts';
import type { Roles } from '../runtime/roles.ts';
import { tellDays } from './days.ts';
import { ledgerStep, type Measured } from './ledger-step.ts';
import type { Sampler } from './sampler.ts';
import { HOUR_MS, hourOf } from './spread.ts';

const EVERY_MS = 60_000;
const OWN_EVERY_MS = 5000;
/** Rows of one transaction. */
const BITE = 250;
const ATTEMPTS = 3;
const DAY_HOURS = 24;

export interface LedgerDeps {
  usage: UsageStore;
  sampler: Sampler;
  publisher: Pick<Publisher, 'note' | 'stored'>;
  roles: Pick<Roles, 'holds'>;
  config: UsageConfig;
  clock: Clock;
  logger: Logger;
}

const NOTHING: Measured = { used: new Map(), execs: new Map(), peak_memory_bytes: 0, isFinal: false };

export class Ledger {
  readonly #deps: LedgerDeps;
  readonly #rounds: Periodic;
  #allAt = Number.NEGATIVE_INFINITY;
  /** Whether this process had the role `upkeep` in its last round. */
  #isWriter = false;
  #failures = 0;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#rounds = new Periodic(deps.clock, OWN_EVERY_MS, () => this.#round());
  }

  start(): void {
    this.#rounds.startLater();
  }

  /** Writes what this process knows, then stops. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    const isWriter = this.#isWriter || this.#deps.roles.holds('upkeep');
    const left = isWriter ? this.flush() : this.#flushOwn();
    await left.catch((err: unknown) =>
      this.#deps.logger.warn({ err }, 'Could not write the use of sandboxes; the next start continues.'),
    );
  }

  /** Seconds since all rows were written. */
  get lagSeconds(): number {
    const ms = this.#deps.clock.monotonic() - this.#allAt;
    return Number.isFinite(ms) ? ms / 1000 : 0;
  }

  /** Writes all open rows now. */
  async flush(): Promise<void> {
    const { usage, clock } = this.#deps;
    const began = clock.now();
    const monotonic = clock.monotonic();
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows: UsageRecord[] = await usage.open(BITE, after);
      await this.#write(rows);
      after = rows.length === BITE ? rows.at(-1)?.sandbox_id : undefined;
    }
    const before = await usage.completeUntil();
    if (before !== undefined) await tellDays(this.#deps, Date.parse(before), began);
    await usage.complete(new Date(began).toISOString());
    this.#allAt = monotonic;
  }

  async #round(): Promise<void> {
    const { roles, clock, logger } = this.#deps;
    try {
      this.#isWriter = roles.holds('upkeep');
      if (!this.#isWriter) this.#leaveToWriter();
      const isDue = clock.monotonic() - this.#allAt >= EVERY_MS;
      if (isDue && this.#isWriter) {
        await this.flush();
        await this.#purge();
      } else await this.#flushOwn();
      if (this.#failures > 0) logger.info({}, 'The use of sandboxes is written again.');
      this.#failures = 0;
    } catch (err) {
      if (this.#failures++ === 0) logger.warn({ err }, 'Could not write the use of sandboxes; retrying.');
    }
  }

  /** Nobody but this process knows its commands and last readings; all else the writer measures, too. */
  #leaveToWriter(): void {
    for (const [id, known] of this.#deps.sampler.all()) {
      known.dropUsed();
      if (known.subject.state === 'destroyed' && !known.isDue) this.#deps.sampler.forget(id);
    }
  }

  async #flushOwn(): Promise<void> {
    const due = [...this.#deps.sampler.all()].filter(([, known]) => known.isDue).map(([id]) => id);
    for (let at = 0; at < due.length; at += BITE) {
      const ids = due.slice(at, at + BITE);
      const open = (await this.#deps.usage.of(ids)).filter(({ settled }) => !settled);
      await this.#write(open);
      const known = new Set(open.map(({ sandbox_id }) => sandbox_id));
      // Settled by another process, or without a row: it never ran.
      for (const id of ids) if (!known.has(id)) this.#deps.sampler.forget(id);
    }
  }

  /** Reads again what another process has moved forward meanwhile. */
  async #write(rows: readonly UsageRecord[]): Promise<void> {
    const { usage, sampler, clock } = this.#deps;
    let left = rows;
    for (let attempt = 0; attempt < ATTEMPTS && left.length > 0; attempt++) {
      const steps = left.flatMap((row) => {
        const measured = sampler.get(row.sandbox_id)?.measured() ?? NOTHING;
        const change = ledgerStep(row, measured, clock.now());
        return change ? [{ change, measured }] : [];
      });
      const written = new Set(await usage.settle(steps.map(({ change }) => change)));
      for (const { change, measured } of steps) {
        if (!written.has(change.sandbox_id)) continue;
        sampler.get(change.sandbox_id)?.taken(measured);
        if (change.settled) sampler.forget(change.sandbox_id);
      }
      const missed = steps.map(({ change }) => change.sandbox_id).filter((id) => !written.has(id));
      left = missed.length > 0 ? (await usage.of(missed)).filter(({ settled }) => !settled) : [];
    }
  }

  async #purge(): Promise<void> {
    const { usage, config, clock } = this.#deps;
    const hoursMs = Math.max(
      DAY_HOURS * HOUR_MS,
      parseDuration(config.retention_hours, 'usage.retention_hours'),
    );
    const daysMs = Math.max(hoursMs, parseDuration(config.retention_days, 'usage.retention_days'));
    const dayOf = (ms: number) => {
      const hour = hourOf(clock.now() - ms);
      return hour - (hour % DAY_HOURS);
    };
    await usage.purge({
      hours: dayOf(hoursMs),
      days: dayOf(daysMs),
      sandboxes: new Date(clock.now() - hoursMs).toISOString(),
    });
  }
}
