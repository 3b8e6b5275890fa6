// Queues calls for the writer. Calls of one turn of the event loop, and those that collect while a request is in flight, are
// sent together, in their order: one transaction and one sync for many writes. The queue is bounded in number and time. A sent
// request is always awaited because its outcome is otherwise unknown.

import { ServiceError } from '../../domain/errors.ts';
import { fromPlain } from '../../domain/plain-error.ts';
import type { Clock, Timer } from '../../domain/ports.ts';
import { storeClosed } from '../failures.ts';
import type { Call, LaneName, Outcome, Request } from './wire.ts';

/** The maximum number of calls in one transaction. */
const MOST_TOGETHER = 256;
/**
 * Each entry is a reference to data that its caller holds anyway, and a full queue of spawns arrives at once. Above the
 * first bound no rows can be added, while changes and ends may still wait.
 */
const MOST_ADDING = 20_000;
const MOST_WAITING = 40_000;
const WAIT_MS = 10_000;

export interface LaneDeps {
  name: LaneName;
  clock: Clock;
  /** Rejects if the writer is lost. */
  send(request: Request): Promise<Outcome[]>;
}

interface Waiting {
  call: Call;
  since: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class Lane {
  readonly #deps: LaneDeps;
  #waiting: Waiting[] = [];
  #sentAt: number | undefined;
  #tookMs = 0;
  #expiry: Timer | undefined;
  /** A request is about to be sent. */
  #isDue = false;
  #isClosed = false;

  constructor(deps: LaneDeps) {
    this.#deps = deps;
  }

  /** The duration of the last request, or of the one in flight if that is longer. */
  get slownessMs(): number {
    const now = this.#deps.clock.monotonic();
    return Math.max(this.#tookMs, now - (this.#sentAt ?? now));
  }

  /** Resolves with the method's result. Rejects with a ServiceError. */
  call(call: Call, isAdding = false): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(storeClosed());
    if (this.#waiting.length >= (isAdding ? MOST_ADDING : MOST_WAITING)) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, since: this.#deps.clock.monotonic(), resolve, reject });
      if (this.#sentAt === undefined) this.#soon();
      else this.#expiry ??= this.#deps.clock.after(WAIT_MS, () => this.#expire());
    });
  }

  /** Rejects queued and new calls. A sent request is still answered. */
  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(storeClosed());
    this.#expiry?.cancel();
  }

  /** When all promises that wait by then, and those that they settle, have run: what they call goes along. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() =>
      process.nextTick(() => {
        this.#isDue = false;
        this.#next();
      }),
    );
  }

  #next(): void {
    const members = this.#waiting.splice(0, MOST_TOGETHER);
    if (members.length === 0) return;
    void this.#serve(members);
  }

  async #serve(members: readonly Waiting[]): Promise<void> {
    const { name, clock, send } = this.#deps;
    const since = clock.monotonic();
    this.#sentAt = since;
    try {
      const outcomes = await send({ lane: name, calls: members.map(({ call }) => call) });
      members.forEach(({ resolve, reject }, at) => {
        const outcome = outcomes[at]!;
        if ('failure' in outcome) reject(fromPlain(outcome.failure));
        else resolve(outcome.value);
      });
    } catch (error) {
      for (const { reject } of members) reject(error);
    }
    this.#tookMs = clock.monotonic() - since;
    this.#sentAt = undefined;
    this.#next();
  }

  #expire(): void {
    const now = this.#deps.clock.monotonic();
    const isDue = ({ since }: Waiting) => now - since >= WAIT_MS;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((one) => !isDue(one));
    for (const { since, reject } of due) reject(tooSlow(now - since));
    const [oldest] = this.#waiting;
    this.#expiry = oldest && this.#deps.clock.after(oldest.since + WAIT_MS - now, () => this.#expire());
  }
}

const tooMany = () =>
  new ServiceError('unavailable', 'Too many writes are waiting for the database.', {
    remedy: 'Try again. If the error persists, check the disk that holds the database.',
    retryAfterMs: 1000,
  });

const tooSlow = (ms: number) =>
  new ServiceError(
    'unavailable',
    `The database is slow: a write timed out after ${Math.round(ms / 1000)} s in the queue.`,
    {
      remedy: 'Nothing was written. Check the disk that holds the database and try again.',
      retryAfterMs: 1000,
    },
  );
