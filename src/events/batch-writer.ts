// Writes single items in batches: after a moment, or at once with 500. One batch at a time, in order; a batch that
// cannot be stored is retried.
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { EventDraft } from '../schema/event.ts';

const BATCH = 500;
const RETRY_MS = 1000;

export interface Writer<Draft> {
  /** Takes the draft and returns at once; never throws. With too many waiting the oldest are dropped. */
  publish(draft: Draft): void;
  /** Resolves when every draft taken so far is stored, or at the first attempt that fails: it is logged, tried again later. */
  flush(): Promise<void>;
  /** Flushes and stops; what comes later or could not be stored is dropped. Idempotent. */
  close(): Promise<void>;
}

export interface BatchWriterDeps<Draft> {
  /** One transaction. */
  append(drafts: Draft[]): Promise<void>;
  /** Gets what is stored, in order; does not throw. */
  deliver?(stored: Draft[]): void;
  /** How many may wait. */
  limit: number;
  /** How long the first of a batch waits for others: what a kill may lose. */
  lingerMs: number;
  /** What is written, for the log: `Events`. */
  what: string;
  clock: Clock;
  logger: Logger;
}

export class BatchWriter<Draft> implements Writer<Draft> {
  readonly #deps: BatchWriterDeps<Draft>;
  #waiting: Draft[] = [];
  /** Drafts taken, and drafts that are stored or dropped, since the start. */
  #taken = 0;
  #done = 0;
  #dropped = 0;
  #writing: Promise<boolean> | undefined;
  #timer: Timer | undefined;
  #failing = false;
  #closed = false;

  constructor(deps: BatchWriterDeps<Draft>) {
    this.#deps = deps;
  }

  publish(draft: Draft): void {
    this.#taken++;
    if (this.#closed) this.#drop(1);
    else this.#waiting.push(draft);
    if (this.#waiting.length > this.#deps.limit) this.#drop(this.#waiting.splice(0, BATCH).length);
    if (this.#failing || this.#closed) return;
    if (this.#waiting.length >= BATCH) void this.#write();
    else this.#timer ??= this.#after(this.#deps.lingerMs);
  }

  async flush(): Promise<void> {
    const mine = this.#taken;
    while (this.#done < mine) if (!(await this.#write())) return;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    this.#timer?.cancel();
    if (this.#waiting.length > 0) this.#drop(this.#waiting.splice(0).length);
  }

  #after(ms: number): Timer {
    return this.#deps.clock.after(ms, () => void this.#write());
  }

  /** One batch at a time, so that ids follow the order of publishing. False when it failed. */
  #write(): Promise<boolean> {
    this.#writing ??= this.#attempt().then((stored) => {
      this.#writing = undefined;
      this.#timer?.cancel();
      this.#timer = undefined;
      if (stored && this.#waiting.length >= BATCH) void this.#write();
      else if (this.#waiting.length > 0) this.#timer = this.#after(stored ? this.#deps.lingerMs : RETRY_MS);
      return stored;
    });
    return this.#writing;
  }

  async #attempt(): Promise<boolean> {
    const drafts = this.#waiting.splice(0, BATCH);
    try {
      if (drafts.length === 0) return true;
      await this.#deps.append(drafts);
      this.#done += drafts.length;
      this.#recovered();
      this.#deps.deliver?.(drafts);
      return true;
    } catch (error) {
      this.#waiting = drafts.concat(this.#waiting);
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    const { logger, what } = this.#deps;
    if (!this.#failing)
      logger.error({ err: error }, `Could not store ${what}; keeping them in memory and retrying.`);
    this.#failing = true;
  }

  #recovered(): void {
    const { logger, what } = this.#deps;
    if (this.#failing) logger.info({ dropped: this.#dropped }, `Storing ${what} again.`);
    this.#failing = false;
    if (!this.#closed) this.#dropped = 0;
  }

  /** Logged once for each time that it begins; the count follows when events are stored again. */
  #drop(count: number): void {
    this.#done += count;
    const { logger, what } = this.#deps;
    if (this.#dropped === 0) logger.warn({ dropped: count }, `Dropping ${what} that could not be stored.`);
    this.#dropped += count;
  }
}

const WAITING_LIMIT = 100_000;
/** Live readers wait as long; a commit without a sync costs a twentieth of it. */
const LINGER_MS = 5;

/** Above 100,000 queued events the oldest are dropped. */
export type EventWriter = Writer<EventDraft>;

export interface EventWriterDeps {
  /** One transaction (`store.events.append`). */
  append(drafts: EventDraft[]): Promise<void>;
  /** Gets what is stored, in order (`bus.publish`); does not throw. */
  deliver(events: EventDraft[]): void;
  clock: Clock;
  logger: Logger;
}

export function eventWriter(deps: EventWriterDeps): EventWriter {
  return new BatchWriter({ ...deps, what: 'events', limit: WAITING_LIMIT, lingerMs: LINGER_MS });
}
