// The owners that wait at one provider, by turn: those of whom nothing is known to be lacking, and those that are known to
// have no place in any VM of the pool.
import { LinkedList, type ListNode } from './linked-list.ts';

/** One owner among others. */
export interface OwnerTurn {
  /** The lower, the sooner. */
  turn: number;
  /** Where it stands; undefined while its owner has no room. */
  at: { among: LinkedList<OwnerTurn>; link: ListNode<OwnerTurn> } | undefined;
}

export class OwnerRotation<L extends OwnerTurn> {
  /** No place at the provider at all. */
  isFull = false;
  /** No VM has a place for one more owner; those that have one in it are not concerned. */
  isPoolFull = false;
  readonly #inside = new LinkedList<L>();
  readonly #outside = new LinkedList<L>();

  /** Whose turn it is, of those that nothing is known to be lacking. */
  next(): L | undefined {
    if (this.isFull) return undefined;
    const inside = this.#inside.first?.value;
    const outside = this.isPoolFull ? undefined : this.#outside.first?.value;
    if (!inside || !outside) return inside ?? outside;
    return inside.turn < outside.turn ? inside : outside;
  }

  /** Whether one who comes now goes behind somebody. */
  get hasWaiting(): boolean {
    return this.#inside.size > 0 || (!this.isPoolFull && this.#outside.size > 0);
  }

  /** In the order of turns. Nearly all have the newest turn or the oldest, so that there is nothing to walk. */
  enter(line: L, isOutside: boolean): void {
    const among = isOutside ? this.#outside : this.#inside;
    let after = among.first;
    if (among.last && among.last.value.turn < line.turn) after = undefined;
    while (after && after.value.turn < line.turn) after = after.after;
    line.at = { among, link: among.insert(line, after) };
  }

  /** A place was freed that anybody may have. */
  freed(): void {
    this.isFull = false;
    this.isPoolFull = false;
  }
}

/** Harmless for one who is nowhere. */
export function exit(line: OwnerTurn): void {
  line.at?.among.remove(line.at.link);
  line.at = undefined;
}
