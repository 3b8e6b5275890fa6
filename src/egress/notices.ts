// Joins decisions to events, so that a program that is refused a thousand times cannot push the events of others out.
import type { Clock, Timer } from '../domain/ports.ts';
import { takeToken } from '../domain/rate.ts';
import type { EgressEvent } from './egress.ts';

const JOINED_MS = 60_000;
const BUCKET = { burst: 60, refillMs: 1000 };
/** Targets whose decisions are being joined; more have no events until one of them is over. */
const MOST = 256;

export type Notice = Omit<EgressEvent, 'count'>;

interface Joined {
  notice: Notice;
  /** Since the last event of it. */
  count: number;
  timer: Timer;
}

/** The events of one sandbox: the first decision at once, those like it within 60 s as one event after that. */
export class Notices {
  readonly #clock: Clock;
  readonly #publish: (event: EgressEvent) => void;
  readonly #joined = new Map<string, Joined>();
  #fullAt = 0;

  constructor(clock: Clock, publish: (event: EgressEvent) => void) {
    this.#clock = clock;
    this.#publish = publish;
  }

  note(notice: Notice): void {
    const key = JSON.stringify([notice.type, notice.host, notice.port, notice.reason, notice.credential]);
    const joined = this.#joined.get(key);
    if (joined) joined.count += 1;
    else if (this.#joined.size < MOST && this.#mayPublish()) {
      this.#joined.set(key, { notice, count: 0, timer: this.#later(key) });
      this.#publish({ ...notice, count: 1 });
    }
  }

  /** Forgets decisions that have had no event yet. */
  close(): void {
    for (const { timer } of this.#joined.values()) timer.cancel();
    this.#joined.clear();
  }

  #later(key: string): Timer {
    return this.#clock.after(JOINED_MS, () => this.#flush(key));
  }

  #flush(key: string): void {
    const joined = this.#joined.get(key);
    if (!joined) return;
    const { notice, count } = joined;
    if (count === 0) return void this.#joined.delete(key);
    const isPublished = this.#mayPublish();
    if (isPublished) joined.count = 0;
    joined.timer = this.#later(key);
    if (isPublished) this.#publish({ ...notice, count });
  }

  #mayPublish(): boolean {
    const { verdict, fullAt } = takeToken(BUCKET, this.#fullAt, this.#clock.monotonic());
    this.#fullAt = fullAt;
    return verdict.allowed;
  }
}
