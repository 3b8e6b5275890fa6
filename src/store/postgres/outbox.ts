// Writes events without ids into the outbox, and has them numbered (docs/design/postgres.md#events). Numbering is requested
// after each commit and runs once at a time in this process; the database allows one at a time over all processes.
import type { Clock, Ids, Timer } from '../../domain/ports.ts';
import type { EventDraft } from '../../schema/event.ts';
import { toEventRow } from '../rows.ts';
import { type EncodedJson, encodeJson } from './text.ts';
import type { Work } from './work.ts';

/** Nothing about a sandbox is stored after these. */
const ENDS: readonly string[] = ['sandbox.destroyed', 'sandbox.error'];
const BATCH = 1000;
/** Pause between two numberings under load. */
const PAUSE_MS = 20;
const RETRY_MS = 1000;

/** The drafts as a `jsonb` parameter for `svc_tell_17`, each with an id that a repetition keeps. */
export function outboxRows(drafts: readonly EventDraft[], ids: Ids): unknown[] {
  return drafts.map((draft) => {
    const { id: _, ...row } = toEventRow(0, draft);
    return { ...row, eid: ids.uuid(), is_last: row.sandbox_id !== null && ENDS.includes(row.type) };
  });
}

export const outboxJson = (drafts: readonly EventDraft[], ids: Ids): EncodedJson =>
  encodeJson(outboxRows(drafts, ids));

export class Numbering {
  readonly #work: Work;
  readonly #clock: Clock;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #retry: Timer | undefined;
  readonly #numbered: () => void;
  #isClosed = false;

  /** `numbered` is called when events have their ids. */
  constructor(work: Work, clock: Clock, numbered: () => void) {
    this.#work = work;
    this.#clock = clock;
    this.#numbered = numbered;
  }

  /** Asks for a numbering that starts after this call. One that fails is repeated every second. */
  request(): void {
    this.#after().catch(() => {
      if (this.#isClosed) return;
      this.#retry ??= this.#clock.after(RETRY_MS, () => {
        this.#retry = undefined;
        this.request();
      });
    });
  }

  /** Waits for the numbering that runs, and stops repetitions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry?.cancel();
    await this.settled().catch(() => undefined);
  }

  /** Resolves when everything that this process committed before this call has its id. Rejects with a ServiceError. */
  async settled(): Promise<void> {
    if (this.#running) await this.#after();
  }

  /** Resolves when everything that any process committed before this call has its id. Rejects with a ServiceError. */
  complete(): Promise<void> {
    return this.#after();
  }

  #after(): Promise<void> {
    if (!this.#running) return this.#start();
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => this.#clock.sleep(PAUSE_MS))
      .then(() => {
        this.#next = undefined;
        return this.#start();
      });
    return this.#next;
  }

  #start(): Promise<void> {
    const running = this.#number().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  /** Until nothing is left. */
  async #number(): Promise<void> {
    for (let taken = BATCH; taken >= BATCH; ) {
      const [row] = await this.#work.write<{ taken: number }>({
        name: 'number',
        text: 'SELECT svc_number_26($1) AS taken',
        values: [BATCH],
      });
      taken = row?.taken ?? 0;
      if (taken > 0) this.#numbered();
    }
  }
}
