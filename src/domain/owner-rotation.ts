// The owners that wait at one provider, by turn: those that may get capacity, and those for which no VM of the pool has
// capacity.
import { LinkedList, type ListNode } from './linked-list.ts';

/** An owner's position in the rotation. */
export interface OwnerTurn {
  /** Lower turns come first. */
  turn: number;
  /** Its position in a list; undefined while the owner has reached its limit. */
  at: { among: LinkedList<OwnerTurn>; link: ListNode<OwnerTurn> } | undefined;
}

export class OwnerRotation<L extends OwnerTurn> {
  /** True if the provider has no capacity at all. */
  isFull = false;
  /** True if no VM has capacity for one more owner. Owners that already have a VM are not affected. */
  isPoolFull = false;
  readonly #inside = new LinkedList<L>();
  readonly #outside = new LinkedList<L>();

  /** Returns the next owner among those that may get capacity. */
  next(): L | undefined {
    if (this.isFull) return undefined;
    const inside = this.#inside.first?.value;
    const outside = this.isPoolFull ? undefined : this.#outside.first?.value;
    if (!inside || !outside) return inside ?? outside;
    return inside.turn < outside.turn ? inside : outside;
  }

  /** True if a new owner would go behind another. */
  get hasWaiting(): boolean {
    return this.#inside.size > 0 || (!this.isPoolFull && this.#outside.size > 0);
  }

  /**
   * Inserts in the order of turns. Nearly all owners have the newest or the oldest turn, so there is nothing to walk.
   */
  enter(line: L, isOutside: boolean): void {
    const among = isOutside ? this.#outside : this.#inside;
    let after = among.first;
    if (among.last && among.last.value.turn < line.turn) after = undefined;
    while (after && after.value.turn < line.turn) after = after.after;
    line.at = { among, link: among.insert(line, after) };
  }

  /** Capacity was freed that anyone may use. */
  freed(): void {
    this.isFull = false;
    this.isPoolFull = false;
  }
}

/** Idempotent. */
export function exit(line: OwnerTurn): void {
  line.at?.among.remove(line.at.link);
  line.at = undefined;
}
