// How long each one waits: one limit for all, so that the oldest is always the next whose time is over, and one timer does.
import { LinkedList, type ListNode } from '../../domain/linked-list.ts';
import type { Clock, Timer } from '../../domain/ports.ts';

/** One wait; a handle to end it by. */
export interface Wait<T> {
  readonly item: T;
  readonly since: number;
  link: ListNode<Wait<T>> | undefined;
}

export interface WaitRules<T> {
  clock: Clock;
  limitMs: number;
  /** Its time is over; the wait is ended by then. */
  expired(item: T): void;
}

export class Waits<T> {
  readonly #rules: WaitRules<T>;
  /** Oldest first: also the order in which they run out. */
  readonly #ages = new LinkedList<Wait<T>>();
  #timer: Timer | undefined;

  constructor(rules: WaitRules<T>) {
    this.#rules = rules;
  }

  begin(item: T): Wait<T> {
    const wait: Wait<T> = { item, since: this.#rules.clock.monotonic(), link: undefined };
    wait.link = this.#ages.append(wait);
    this.#arm();
    return wait;
  }

  /** Harmless for one that has ended. */
  end(wait: Wait<T>): void {
    if (wait.link) this.#ages.remove(wait.link);
    wait.link = undefined;
  }

  /** Whole ms, also of one that has ended. */
  lasted({ since }: Wait<T>): number {
    return Math.round(this.#rules.clock.monotonic() - since);
  }

  /** Nobody's time runs out any more. */
  close(): void {
    for (let link = this.#ages.first; link; link = this.#ages.first) this.end(link.value);
    this.#timer?.cancel();
  }

  #arm(): void {
    const oldest = this.#ages.first?.value;
    if (this.#timer || !oldest) return;
    const { clock, limitMs } = this.#rules;
    this.#timer = clock.after(limitMs - this.lasted(oldest), () => {
      this.#timer = undefined;
      this.#expire();
      this.#arm();
    });
  }

  #expire(): void {
    for (let link = this.#ages.first; link; link = this.#ages.first) {
      const wait = link.value;
      if (this.lasted(wait) < this.#rules.limitMs) return;
      this.end(wait);
      this.#rules.expired(wait.item);
    }
  }
}
