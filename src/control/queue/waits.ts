// Bounds how long entries wait. All have the same limit, so the oldest expires next and one timer is enough.
import { LinkedList, type ListNode } from '../../domain/linked-list.ts';
import type { Clock, Timer } from '../../domain/ports.ts';

/** One wait, and the handle to end it. */
export interface Wait<T> {
  readonly item: T;
  readonly since: number;
  link: ListNode<Wait<T>> | undefined;
}

export interface WaitRules<T> {
  clock: Clock;
  limitMs: number;
  /** The item waited too long; its wait has ended. */
  expired(item: T): void;
}

export class Waits<T> {
  readonly #rules: WaitRules<T>;
  /** Oldest first, which is also the order in which they expire. */
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

  /** Does nothing for a wait that has ended. */
  end(wait: Wait<T>): void {
    if (wait.link) this.#ages.remove(wait.link);
    wait.link = undefined;
  }

  /** Milliseconds, rounded, also for a wait that has ended. */
  lasted({ since }: Wait<T>): number {
    return Math.round(this.#rules.clock.monotonic() - since);
  }

  /** Ends all waits; none expires any more. */
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
