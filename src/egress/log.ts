// The decision log of one sandbox: the newest lines in memory, and readers who follow.
import { Broadcast } from '../domain/broadcast.ts';
import type { EgressLogLine } from '../schema/egress.ts';
import type { EgressLogQuery } from './egress.ts';

const KEPT = 1000;

export class DecisionLog {
  readonly #lines: EgressLogLine[] = [];
  readonly #news = new Broadcast<EgressLogLine>();
  /** Where the oldest line is, once there are as many as are kept. */
  #oldest = 0;
  #isClosed = false;

  get size(): number {
    return this.#lines.length;
  }

  add(line: EgressLogLine): void {
    if (this.#isClosed) return;
    if (this.#lines.length < KEPT) this.#lines.push(line);
    else {
      this.#lines[this.#oldest] = line;
      this.#oldest = (this.#oldest + 1) % KEPT;
    }
    this.#news.add(line);
  }

  read({ limit = KEPT, decision }: EgressLogQuery = {}): EgressLogLine[] {
    const lines = [...this.#lines.slice(this.#oldest), ...this.#lines.slice(0, this.#oldest)];
    const asked = decision === undefined ? lines : lines.filter((line) => line.decision === decision);
    return limit > 0 ? asked.slice(-limit) : [];
  }

  /** Begins with the next line, also when it is read later. Ends when `signal` aborts or the log closes. */
  follow(signal: AbortSignal): AsyncIterable<EgressLogLine> {
    return this.#news.follow(signal);
  }

  close(): void {
    this.#isClosed = true;
    this.#lines.length = 0;
    this.#oldest = 0;
    this.#news.close();
  }
}
