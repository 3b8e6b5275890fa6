// Buffers the events that no state change waits for (exec, file, failures) and writes them in batches: after 50 ms, or
// at 500 at once (quality.md, rule 9). A kill may lose what waits here, and nothing else.
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { Event, EventDraft } from '../schema/event.ts';

const BATCH = 500;
const LINGER_MS = 50;
const RETRY_MS = 1000;
const WAITING_LIMIT = 100_000;

export interface EventWriter {
  /** Takes the draft and returns at once; never throws. With 100,000 waiting the oldest are dropped. */
  publish(draft: EventDraft): void;
  /** Resolves when every draft taken so far is stored, or at the first attempt that fails: it is logged, tried again later. */
  flush(): Promise<void>;
  /** Flushes and stops; what comes later or could not be stored is dropped. Idempotent. */
  close(): Promise<void>;
}

export interface EventWriterDeps {
  /** One transaction (`store.events.append`). */
  append(drafts: EventDraft[]): Promise<Event[]>;
  /** What is stored, in order (`bus.publish`); does not throw. */
  deliver(events: Event[]): void;
  clock: Clock;
  logger: Logger;
}

export function eventWriter(deps: EventWriterDeps): EventWriter {
  return new BufferedWriter(deps);
}

class BufferedWriter implements EventWriter {
  readonly #deps: EventWriterDeps;
  #waiting: EventDraft[] = [];
  /** Drafts taken, and drafts that are stored or dropped, since the start. */
  #taken = 0;
  #done = 0;
  #dropped = 0;
  #writing: Promise<boolean> | undefined;
  #timer: Timer | undefined;
  #failing = false;
  #closed = false;

  constructor(deps: EventWriterDeps) {
    this.#deps = deps;
  }

  publish(draft: EventDraft): void {
    this.#taken++;
    if (this.#closed) this.#drop(1);
    else this.#waiting.push(draft);
    if (this.#waiting.length > WAITING_LIMIT) this.#drop(this.#waiting.splice(0, BATCH).length);
    if (this.#failing || this.#closed) return;
    if (this.#waiting.length >= BATCH) void this.#write();
    else this.#timer ??= this.#after(LINGER_MS);
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
      else if (this.#waiting.length > 0) this.#timer = this.#after(stored ? LINGER_MS : RETRY_MS);
      return stored;
    });
    return this.#writing;
  }

  async #attempt(): Promise<boolean> {
    const drafts = this.#waiting.splice(0, BATCH);
    try {
      if (drafts.length === 0) return true;
      const events = await this.#deps.append(drafts);
      this.#done += drafts.length;
      this.#recovered();
      this.#deps.deliver(events);
      return true;
    } catch (error) {
      this.#waiting = drafts.concat(this.#waiting);
      this.#failed(error);
      return false;
    }
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#deps.logger.error({ err: error }, 'Events cannot be stored; they wait.');
    this.#failing = true;
  }

  #recovered(): void {
    if (this.#failing) this.#deps.logger.info({ dropped: this.#dropped }, 'Events are stored again.');
    this.#failing = false;
    if (!this.#closed) this.#dropped = 0;
  }

  /** Logged once for each time that it begins; the count follows when events are stored again. */
  #drop(count: number): void {
    this.#done += count;
    if (this.#dropped === 0) this.#deps.logger.warn({ dropped: count }, 'Events are dropped.');
    this.#dropped += count;
  }
}
